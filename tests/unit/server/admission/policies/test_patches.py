"""What mutations make of objects: merged as apply merges, patched as a patch says."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proreus.api.group_version import GroupVersionKind
from proreus.api.status import InternalError
from proreus.server.admission.policies.patches import Unapplicable, applied, patched, plain
from proreus.server.cel.functions.opaque import Amount
from proreus.server.cel.initializers import MadeObject
from proreus.server.cel.syntax import Uint
from proreus.server.cel.values import TypeValue
from proreus.server.schema.definitions import Definitions

POD = GroupVersionKind("", "v1", "Pod")
NODE = Definitions.load().node(POD)
KEYS = st.sampled_from(["a", "b", "c"])
TREES = st.recursive(
    st.integers(0, 9) | st.text("xy", max_size=2),
    lambda inner: st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(KEYS, TREES, max_size=3)


def made(value: Any, name: str = "Object") -> Any:
    """As an expression makes it: every dictionary an object of the type of its place."""
    if isinstance(value, dict):
        fields = {key: made(item, f"{name}.{key}") for key, item in value.items()}
        return MadeObject(name, fields)
    if isinstance(value, list):
        return [made(item, name) for item in value]
    return value


def merged(live: Any, wanted: Any) -> Any:
    """Naively."""
    if not isinstance(live, dict) or not isinstance(wanted, dict):
        return wanted
    return {
        **live,
        **{key: merged(live.get(key), value) for key, value in wanted.items()},
    }


@given(OBJECTS, OBJECTS)
def test_objects_of_no_known_type_are_merged_field_by_field(
    live: dict[str, Any], wanted: dict[str, Any]
) -> None:
    before = plain(live)

    assert applied(made(wanted), live, None) == merged(live, wanted)
    assert live == before


def test_lists_are_merged_by_their_keys() -> None:
    containers = [{"name": "a", "image": "i"}, {"name": "b", "image": "j"}]
    pod = {"apiVersion": "v1", "kind": "Pod", "spec": {"containers": containers}}
    wanted = {"spec": {"containers": [{"name": "b", "env": [{"name": "K", "value": "v"}]}]}}

    found = applied(made(wanted), pod, NODE)

    assert found["spec"]["containers"] == [
        {"name": "a", "image": "i"},
        {"name": "b", "image": "j", "env": [{"name": "K", "value": "v"}]},
    ]


@pytest.mark.parametrize(
    ("wanted", "why"),
    [
        ({"spec": 1},
         "failed to convert patch object to typed object: .spec: expected map, got &{1}"),
        ({"spec": {"none": 1}},
         "failed to convert patch object to typed object: .spec.none: field not declared in "
         "schema"),
        ({"spec": {"tolerations": [{"key": "a"}]}},
         "invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: "
         ".spec.tolerations"),
        ({"spec": {"nodeSelector": {"a": "b"}}},
         "invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: "
         ".spec.nodeSelector"),
    ],
)  # fmt: skip
def test_what_does_not_fit_its_type_or_would_replace_more_than_it_names_is_refused(
    wanted: dict[str, Any], why: str
) -> None:
    with pytest.raises(Unapplicable) as refused:
        applied(made(wanted), {"apiVersion": "v1", "kind": "Pod"}, NODE)

    assert str(refused.value) == f"error applying patch: {why}"


def test_a_type_that_stands_in_the_wrong_place_is_refused() -> None:
    value = MadeObject("Object", {"spec": MadeObject("Object.status", {})})

    with pytest.raises(Unapplicable, match=r'type mismatch: unexpected type name "Object\.status"'):
        applied(value, {}, None)


def test_operations_are_applied_in_order_and_not_at_all_after_a_failed_test() -> None:
    def patch(*operations: dict[str, Any]) -> list[Any]:
        return [MadeObject("JSONPatch", one) for one in operations]

    add = {"op": "add", "path": "/metadata/labels", "value": {"a": "b"}}
    test = {"op": "test", "path": "/metadata/name", "value": "other"}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}

    assert patched(patch(add), pod, POD, NODE)["metadata"]["labels"] == {"a": "b"}
    assert patched(patch(add, test), pod, POD, NODE) is pod
    with pytest.raises(Unapplicable, match="JSON Patch: remove operation does not apply"):
        patched(patch({"op": "remove", "path": "/spec/a"}), pod, POD, NODE)


def test_a_patch_that_adds_a_field_of_no_type_is_refused() -> None:
    operation = {"op": "add", "path": "/spec", "value": {"odd": 1}}

    with pytest.raises(InternalError, match=r'strict decoding error: unknown field "spec\.odd"'):
        patched([MadeObject("JSONPatch", operation)], {"kind": "Pod"}, POD, NODE)


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (Uint(3), 3),
        (2**60, str(2**60)),
        (b"\x00", "AA=="),
        ({"1": [None, True, 1.5]}, {"1": [None, True, 1.5]}),
    ],
)
def test_values_become_json_as_protobuf_has_it(value: Any, found: Any) -> None:
    assert plain(value) == found
    assert type(plain(value)) is type(found)


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (TypeValue("int"), "type conversion not supported for 'type'"),
        ({1: 2}, "unsupported type conversion from 'int' to string"),
        (float("inf"), "google.protobuf.Value.number_value: invalid +Inf value"),
        (Amount.parse("1"), "type conversion error from 'Quantity' to '*structpb.Value'"),
    ],
)
def test_a_value_that_json_has_not_is_refused(value: Any, why: str) -> None:
    with pytest.raises(Unapplicable) as refused:
        plain(value)

    begin = "JSONPath valueExpression evaluated to a type that could not marshal to JSON"
    assert str(refused.value) == f"{begin}: {why}"
