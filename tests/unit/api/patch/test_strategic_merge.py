"""Results are those of a real server (compare server.md §6.3.1 and §12)."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proreus.api.group_version import GroupVersionKind
from proreus.api.patch.directives import without_directives
from proreus.api.patch.errors import (
    MalformedPatch,
    PatchError,
    RejectedPatch,
    UnmappedPatchError,
)
from proreus.api.patch.strategic_merge import apply_strategic_merge
from proreus.api.typed import TypeNode
from proreus.server.schema.definitions import Definitions


def node_of(group: str, kind: str) -> TypeNode:
    node = Definitions.load().node(GroupVersionKind(group, "v1", kind))
    assert node is not None
    return node


def patch_pod(spec: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    document = {"kind": "Pod", "apiVersion": "v1", "spec": spec}
    before = copy.deepcopy((document, patch))
    result = apply_strategic_merge(document, {"spec": patch}, node_of("", "Pod"))
    assert (document, patch) == before[:1] + (patch,)
    found: dict[str, Any] = result["spec"]
    return found


def containers(*names: str) -> dict[str, Any]:
    return {"containers": [{"name": name, "image": f"{name}:1"} for name in names]}


def names(spec: dict[str, Any]) -> list[str]:
    return [container["name"] for container in spec["containers"]]


@pytest.mark.parametrize(
    ("before", "patch", "after"),
    [
        ("ab", ["c"], "cab"),
        ("cab", ["c", "a"], "cab"),
        ("cab", ["z", "b"], "zcab"),
        ("ab", ["b", "c"], "abc"),
        ("ab", ["b", "a"], "ba"),
        ("abc", ["c", "x"], "abcx"),
    ],
)
def test_elements_named_in_the_patch_follow_its_order(
    before: str, patch: list[str], after: str
) -> None:
    assert "".join(names(patch_pod(containers(*before), containers(*patch)))) == after


def test_elements_merge_by_key_and_fields_by_theirs() -> None:
    spec = containers("a", "b")
    spec["containers"][0]["env"] = [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]
    env = [
        {"name": "A", "$patch": "delete"},
        {"name": "B", "value": None, "valueFrom": {"x": None}},
    ]

    patched = patch_pod(spec, {"containers": [{"name": "a", "env": env}]})

    assert patched["containers"] == [
        {"name": "a", "image": "a:1", "env": [{"name": "B", "valueFrom": {}}]},
        {"name": "b", "image": "b:1"},
    ]


def test_ports_merge_by_number_alone() -> None:
    spec = containers("a")
    spec["containers"][0]["ports"] = [{"containerPort": 80, "name": "web"}, {"containerPort": 81}]
    ports = [{"containerPort": 80, "protocol": "UDP"}, {"containerPort": 82}]

    patched = patch_pod(spec, {"containers": [{"name": "a", "ports": ports}]})

    assert patched["containers"][0]["ports"] == [
        {"containerPort": 80, "name": "web", "protocol": "UDP"},
        {"containerPort": 82},
        {"containerPort": 81},
    ]


def test_delete_and_a_new_element_in_one_list() -> None:
    patch = {"containers": [{"name": "c"}, {"name": "a", "$patch": "delete"}]}

    assert names(patch_pod(containers("a", "b"), patch)) == ["c", "b"]


def test_replace_in_a_list_makes_the_patch_the_whole_list() -> None:
    patch = {"containers": [{"name": "c"}, {"$patch": "replace"}]}

    assert names(patch_pod(containers("a", "b"), patch)) == ["c"]


def test_lists_without_a_strategy_are_replaced() -> None:
    spec = {"tolerations": [{"key": "a"}]}

    assert patch_pod(spec, {"tolerations": [{"key": "b"}]}) == {"tolerations": [{"key": "b"}]}
    assert patch_pod(spec, {"tolerations": None}) == {}
    assert patch_pod(containers("a"), {"containers": []}) == containers("a")


@pytest.mark.parametrize(
    ("order", "patch", "after"),
    [
        ("cab", [], "cab"),
        ("ca", [], "bca"),
        ("bc", [], "abc"),
        ("ba", ["a"], "bac"),
        ("xba", ["x"], "xbac"),
    ],
)
def test_set_element_order_orders_also_what_it_does_not_change(
    order: str, patch: list[str], after: str
) -> None:
    asked: dict[str, Any] = {"$setElementOrder/containers": [{"name": name} for name in order]}
    if patch:
        asked |= containers(*patch)

    assert "".join(names(patch_pod(containers("a", "b", "c"), asked))) == after


def test_set_element_order_on_a_list_that_is_new_or_nowhere() -> None:
    order = {"$setElementOrder/containers": [{"name": "b"}, {"name": "a"}]}

    assert names(patch_pod({}, order | containers("b", "a"))) == ["b", "a"]
    assert patch_pod({}, order) == {}


@pytest.mark.parametrize(
    ("spec", "patch", "message"),
    [
        ({}, {"containers": None}, "expected a []interface {}, but received a %!s(<nil>)"),
        ({}, {"containers": "x"}, "expected a []interface {}, but received a string"),
        ({}, {"containers": []}, "no elements in any of the given slices"),
        ({}, {"containers": ["a"]}, "expected a map[string]interface {}, but received a string"),
        (
            {},
            {"containers": [{"image": "x"}]},
            "map: map[image:x] does not contain declared merge key: name",
        ),
        (
            {"containers": [{"name": "a"}]},
            {"$setElementOrder/containers": [{"name": "b"}, 5]},
            "value for key 1 is not a map",
        ),
        (
            {},
            {"$setElementOrder/nope": [{"name": "a"}]},
            'unable to find api field in struct PodSpec for the json field "nope"',
        ),
    ],
)
def test_an_order_without_a_list_of_elements_that_have_keys_is_refused(
    spec: Any, patch: Any, message: str
) -> None:
    order = {"$setElementOrder/containers": [{"name": "b"}, {"name": "a"}]}

    with pytest.raises(UnmappedPatchError) as caught:
        patch_pod(spec, order | patch)

    assert str(caught.value) == message


def test_an_empty_order_puts_what_the_server_knows_first() -> None:
    spec = {"containers": [{"name": "a"}, {"name": "b"}]}
    patch = {"$setElementOrder/containers": [], "containers": [{"name": "c"}, {"name": "b"}]}

    assert names(patch_pod(spec, patch)) == ["a", "b", "c"]


def test_new_elements_of_one_key_are_merged() -> None:
    added = [{"name": "a", "image": "x"}, {"name": "a", "command": ["y"]}]

    assert patch_pod(containers("b"), {"containers": added})["containers"] == [
        {"name": "a", "image": "x", "command": ["y"]},
        *containers("b")["containers"],
    ]


def test_where_nothing_is_to_be_merged_instructions_go_and_other_directives_stay() -> None:
    element: Any = {
        "name": "a",
        "$setElementOrder/env": [],
        "image": None,
        "resources": {"$patch": "x"},
    }
    patch = {"initContainers": [element, {"name": "b", "$patch": "x"}], "os": {"$patch": "delete"}}

    assert patch_pod({}, patch) == {"initContainers": [{"name": "a", "$setElementOrder/env": []}]}


def test_values_are_deleted_from_lists_of_any_strategy_and_objects_are_merged() -> None:
    spec = {"securityContext": {"supplementalGroups": [1, 2]}, **containers("a")}
    groups = {"$deleteFromPrimitiveList/supplementalGroups": [1]}
    patch = {
        "securityContext": groups,
        "$deleteFromPrimitiveList/containers": [{"name": "a", "image": "new"}],
    }

    patched = patch_pod(spec, patch)

    assert patched["securityContext"] == {"supplementalGroups": [2]}
    assert patched["containers"][0]["image"] == "new"
    assert patch_pod(spec, {"$deleteFromPrimitiveList/containers": None}) == {
        "securityContext": {"supplementalGroups": [1, 2]}
    }


def test_retain_keys_drops_what_it_does_not_list() -> None:
    spec = {"volumes": [{"name": "v", "emptyDir": {}}]}
    volume = {"name": "v", "configMap": {"name": "c"}, "$retainKeys": ["name", "configMap"]}

    assert patch_pod(spec, {"volumes": [volume]}) == {
        "volumes": [{"name": "v", "configMap": {"name": "c"}}]
    }


@pytest.mark.parametrize("keys", ["name", ["configMap"]])
def test_retain_keys_must_list_what_the_patch_sets(keys: Any) -> None:
    with pytest.raises(MalformedPatch, match="invalid patch format of retainKeys"):
        patch_pod({"volumes": [{"name": "v"}]}, {"volumes": [{"name": "v", "$retainKeys": keys}]})


def patch_metadata(finalizers: list[str], patch: dict[str, Any]) -> Any:
    document = {"metadata": {"finalizers": finalizers}}
    result = apply_strategic_merge(document, {"metadata": patch}, node_of("", "ConfigMap"))
    return result["metadata"].get("finalizers")


def test_primitive_lists_are_sets_with_deletions() -> None:
    assert patch_metadata(["a", "b"], {"finalizers": ["b", "c"]}) == ["a", "b", "c"]
    assert patch_metadata(["a", "b"], {"$deleteFromPrimitiveList/finalizers": ["a"]}) == ["b"]
    assert patch_metadata(["a"], {"$deleteFromPrimitiveList/finalizers": "a"}) == ["a"]
    assert patch_metadata(["a"], {"$deleteFromPrimitiveList/nope": ["a"]}) == ["a"]
    assert patch_metadata(["a", "b"], {"$setElementOrder/finalizers": ["b", "a"]}) == ["b", "a"]
    assert patch_metadata(
        ["a", "b"],
        {
            "$deleteFromPrimitiveList/finalizers": ["a"],
            "$setElementOrder/finalizers": ["c", "b"],
            "finalizers": ["c"],
        },
    ) == ["c", "b"]


@pytest.mark.parametrize(
    "key", ["$deleteFromPrimitiveList", "$deleteFromPrimitiveListX/finalizers"]
)
def test_a_directive_must_name_its_field(key: str) -> None:
    with pytest.raises(MalformedPatch, match="invalid patch format of primitive list"):
        patch_metadata(["a"], {key: ["a"]})
    with pytest.raises(MalformedPatch, match="invalid patch format of setElementOrder list"):
        patch_metadata(["a"], {"$setElementOrder": ["a"]})


def test_patch_directives_on_objects() -> None:
    node = node_of("", "ConfigMap")
    document = {"kind": "ConfigMap", "apiVersion": "v1", "data": {"x": "1"}}

    assert apply_strategic_merge(document, {"$patch": "delete"}, node) == {
        "kind": "ConfigMap",
        "apiVersion": "v1",
    }
    assert apply_strategic_merge(document, {"data": {"$patch": "replace", "y": "2"}}, node) == (
        document | {"data": {"y": "2"}}
    )
    assert apply_strategic_merge(document, {"kind": "X", "data": {"x": None}}, node) == (
        document | {"data": {}}
    )


@pytest.mark.parametrize(
    ("patch", "message"),
    [
        ([{"image": "x:1"}], "map: map[image:x:1] does not contain declared merge key: name"),
        ([{"$patch": "delete"}],
         "map: map[$patch:delete] does not contain declared merge key: name"),
        (["a"], "list element types are not identical: [[map[image:a:1 name:a]] [a]]"),
        ([["a"]], "list element types are not identical: [[map[image:a:1 name:a]] [[a]]]"),
        ([{"name": "a"}, 5],
         "list element types are not identical: [[map[image:a:1 name:a]] [map[name:a] 5]]"),
        ([{"name": "a", "$patch": "merge"}],
         "merging lists cannot yet be specified in the patch"),
        ([{"name": "a", "$patch": "burn"}],
         "unknown patch type: burn in map: map[$patch:burn name:a]"),
        ([{"name": "a", "$patch": 5}],
         "unknown patch type: %!s(int64=5) in map: map[$patch:5 name:a]"),
        ([{"name": "a", "$patch": ["b", True]}],
         "unknown patch type: [b %!s(bool=true)] in map: map[$patch:[b true] name:a]"),
    ],
)  # fmt: skip
def test_what_kubernetes_forgot_to_map_is_an_error_without_reason(patch: Any, message: str) -> None:
    with pytest.raises(UnmappedPatchError) as caught:
        patch_pod(containers("a"), {"containers": patch})

    assert caught.value.to_status().status == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "code": 500,
    }


@pytest.mark.parametrize(
    "patch",
    [
        {"$patch": "merge"},
        {"$setElementOrder/containers": "a"},
        {"$setElementOrder/containers": [{"name": "b"}, {"name": "a"}], **containers("a", "b")},
    ],
)
def test_contradictory_directives_are_errors_without_reason(patch: dict[str, Any]) -> None:
    with pytest.raises(UnmappedPatchError):
        patch_pod(containers("a", "b"), patch)


def test_long_lists_merge_in_reasonable_time() -> None:
    before = [{"name": f"c{n}"} for n in range(20_000)]
    patch = [{"name": f"c{n}", "$patch": "delete"} for n in range(0, 20_000, 2)]

    assert len(patch_pod({"containers": before}, {"containers": patch})["containers"]) == 10_000
    values = [f"x{n}" for n in range(20_000)]
    assert patch_metadata(values, {"$deleteFromPrimitiveList/finalizers": values}) == []


def test_lists_of_lists_are_rejected() -> None:
    with pytest.raises(RejectedPatch):
        patch_pod({"containers": []}, {"containers": [["a"]]})


@pytest.mark.parametrize(("patch", "kind"), [([{}], "array"), ("text", "string"), (5, "number")])
def test_documents_that_are_no_object_are_refused(patch: Any, kind: str) -> None:
    with pytest.raises(MalformedPatch) as caught:
        apply_strategic_merge({}, patch, None)

    assert str(caught.value) == (
        f"json: cannot unmarshal {kind} into Go value of type map[string]interface {{}}"
    )


def test_null_changes_nothing() -> None:
    assert apply_strategic_merge({"a": 1}, None, None) == {"a": 1}


CONTAINER = st.fixed_dictionaries(
    {"name": st.sampled_from("abcd")},
    optional={
        "image": st.sampled_from(["x", "y", None]),
        "args": st.lists(st.sampled_from("pq"), max_size=2),
        "env": st.lists(
            st.fixed_dictionaries({"name": st.sampled_from("AB"), "value": st.sampled_from("12")}),
            max_size=2,
            unique_by=lambda env: str(env["name"]),
        ),
    },
)
CONTAINERS = st.lists(CONTAINER, max_size=4, unique_by=lambda container: str(container["name"]))


@given(CONTAINERS, CONTAINERS)
def test_applying_twice_is_applying_once(before: Any, patch: Any) -> None:
    once = patch_pod({"containers": before}, {"containers": patch})
    twice = patch_pod(once, {"containers": patch})

    # Nulls of a new element are left to its decoding.
    assert without_directives(twice) == without_directives(once)


@given(CONTAINERS, CONTAINERS)
def test_every_element_of_both_sides_is_there_once(before: Any, patch: Any) -> None:
    merged = patch_pod({"containers": before}, {"containers": patch})

    wanted = {container["name"] for container in (*before, *patch)}
    assert sorted(names(merged)) == sorted(wanted)


PARTS = st.recursive(
    st.none() | st.integers(0, 3) | st.sampled_from(["null", "$patch", "", "\ud800"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["a", "null", "$patch", "$retainKeys"]), inner, max_size=3
        )
    ),
    max_leaves=8,
)


def meant(value: Any) -> Any:
    def is_kept(child: Any) -> bool:
        return not (isinstance(child, dict) and "$patch" in child)

    match value:
        case dict():
            left = {key: child for key, child in value.items() if child is not None}
            return {key: meant(child) for key, child in left.items() if is_kept(child)}
        case list():
            return [meant(item) for item in value if is_kept(item)]
        case _:
            return value


@given(PARTS)
def test_a_new_part_has_no_instructions_and_no_nulls(part: Any) -> None:
    assert without_directives(part) == meant(part)


DIRECTIVE = st.sampled_from(
    ["$patch", "$retainKeys", "$setElementOrder/containers", "$deleteFromPrimitiveList/args",
     "containers", "volumes", "name", "args", "env"]
)  # fmt: skip
ANYTHING = st.recursive(
    st.none() | st.sampled_from(["delete", "replace", "merge", "a", 5, True]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(DIRECTIVE, inner, max_size=3),
    max_leaves=12,
)


@given(CONTAINERS, ANYTHING)
def test_any_patch_is_applied_or_refused(before: Any, patch: Any) -> None:
    document = {"spec": {"containers": before}}
    try:
        apply_strategic_merge(document, {"spec": patch}, node_of("", "Pod"))
    except PatchError as refused:
        assert refused.to_status().code in (400, 422, 500)
