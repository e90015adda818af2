"""What is wrong with a strategic merge patch, in the words and the order of a real server."""

from __future__ import annotations

from typing import Any

import pytest

from proreus.api.group_version import GroupVersionKind
from proreus.api.patch.errors import MalformedPatch, PatchError
from proreus.api.patch.strategic_merge import apply_strategic_merge
from proreus.api.patch.strategic_rest import rest_of
from proreus.api.typed import TypeNode
from proreus.server.schema.definitions import Definitions


def node_of(group: str, kind: str) -> TypeNode:
    node = Definitions.load().node(GroupVersionKind(group, "v1", kind))
    assert node is not None
    return node


def fault(group: str, kind: str, live: dict[str, Any], patch: dict[str, Any]) -> str:
    with pytest.raises(PatchError) as refused:
        apply_strategic_merge(live, patch, node_of(group, kind))
    return str(refused.value)


@pytest.mark.parametrize("key", ["$setElementOrder/bogus", "$setElementOrderx", "$setElementOrder"])
def test_an_order_that_is_no_list_is_found_before_what_it_is_of(key: str) -> None:
    said = fault("", "ConfigMap", {}, {key: {"a": 1}})

    assert said == "expected a []interface {}, but received a map[string]interface {}"


def test_an_order_of_no_field_is_malformed() -> None:
    with pytest.raises(MalformedPatch, match="invalid patch format of setElementOrder list"):
        apply_strategic_merge({}, {"$setElementOrderx/a": []}, node_of("", "ConfigMap"))


def test_only_lists_have_an_order() -> None:
    said = fault("", "Pod", {"spec": {}}, {"spec": {"$setElementOrder/nodeName": []}})

    assert said == "expected slice or array type, but got: struct"


def owned_by(*owners: Any) -> dict[str, Any]:
    return {"metadata": {"ownerReferences": list(owners)}}


@pytest.mark.parametrize(
    ("owners", "order", "said"),
    [
        ([{"uid": "a"}], ["x", {"uid": "a"}],
         "expected a map[string]interface {}, but received a string"),
        ([{"uid": "a"}, None], [{"uid": "a"}],
         "expected a map[string]interface {}, but received a %!s(<nil>)"),
        ([{"name": "n"}], [{"uid": "a"}],
         "map: map[name:n] does not contain declared merge key: uid"),
        ([{"uid": "a"}, {"$patch": "replace"}], [{"uid": "a"}],
         "The order in patch list:\n[map[uid:a] map[$patch:replace]]\n doesn't match "
         "$setElementOrder list:\n[map[uid:a]]\n"),
    ],
)  # fmt: skip
def test_elements_of_patch_and_order_are_compared_one_by_one(
    owners: list[Any], order: list[Any], said: str
) -> None:
    patch = {"ownerReferences": owners, "$setElementOrder/ownerReferences": order}

    assert fault("", "ConfigMap", owned_by({"uid": "z"}), {"metadata": patch}) == said


def test_instructions_among_elements_have_no_place_in_the_order() -> None:
    patch = {
        "ownerReferences": [{"uid": "a"}, {"$patch": "replace"}],
        "$setElementOrder/ownerReferences": [{"uid": "a"}, {"uid": "b"}],
    }

    found = apply_strategic_merge({"metadata": {}}, {"metadata": patch}, node_of("", "ConfigMap"))

    assert found["metadata"]["ownerReferences"] == [{"uid": "a"}]


def test_the_patch_is_searched_for_merge_keys_before_the_object() -> None:
    live = {"status": {"conditions": [{"status": "True"}]}}
    patch = {"status": {"conditions": [{"type": "a"}, {"reason": "b"}]}}

    said = fault("flowcontrol.apiserver.k8s.io", "FlowSchema", live, patch)

    assert said == "map: map[reason:b] does not contain declared merge key: type"


def test_objects_and_lists_in_maps_cannot_be_merged() -> None:
    live = {"spec": {"extra": {"a": ["x"]}}}

    said = fault("certificates.k8s.io", "CertificateSigningRequest", live,
                 {"spec": {"extra": {"a": ["y"]}}})  # fmt: skip

    assert said == "merging an object in json but data type is not struct, instead is: map"


def test_parts_of_raw_values_cannot_be_merged() -> None:
    live = {"data": {"a": {"b": 1}}}

    said = fault("apps", "ControllerRevision", live, {"data": {"a": {"c": 1}}})

    assert said == 'unable to find api field in struct RawExtension for the json field "a"'


def test_a_deletion_means_nothing_but_to_lists() -> None:
    live = {"metadata": {"name": "a", "labels": {"x": "1"}}, "immutable": True}
    patch = {
        "$deleteFromPrimitiveList/metadata": {"labels": {"y": "2"}},
        "$deleteFromPrimitiveList/immutable": False,
    }

    found = apply_strategic_merge(live, patch, node_of("", "ConfigMap"))

    assert found["metadata"] == {"name": "a", "labels": {"x": "1", "y": "2"}}
    assert found["immutable"] is False


LIVE = {
    "spec": {
        "replicas": 1,
        "strategy": {"type": "RollingUpdate"},
        "template": {"spec": {"containers": [{"name": "a", "image": "a:1"}]}},
    }
}


@pytest.mark.parametrize(
    ("patch", "rest"),
    [
        ({"spec": {"replicas": None, "paused": 1}}, {"spec": {"replicas": None, "paused": 1}}),
        ({"spec": {"selector": {"matchLabels": None, "x": [{"y": None}]}}},
         {"spec": {"selector": {"x": [{}]}}}),
        ({"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}},
         {"spec": {"strategy": {"type": "Recreate"}}}),
        ({"spec": {"strategy": {"$patch": "replace", "type": "Recreate"}}},
         {"spec": {"strategy": {"type": "Recreate"}}}),
        ({"spec": {"template": {"spec": {
            "$setElementOrder/containers": [{"name": "a"}], "containers": [{"name": "a"}]}}}},
         {"spec": {"template": {"spec": {}}}}),
        ({"spec": {"template": {"spec": {"containers": [
            {"name": "a", "ports": [{"name": None}]}, {"name": "b", "image": None}]}}}},
         {"spec": {"template": {"spec": {"containers": [
             {"name": "a", "ports": [{}]}, {"name": "b", "image": None}]}}}}),
        ({"spec": {"selector": {"x": {"$patch": "delete"}, "y": 1}}},
         {"spec": {"selector": {"y": 1}}}),
    ],
)  # fmt: skip
def test_what_is_settled_is_taken_out_of_the_patch(
    patch: dict[str, Any], rest: dict[str, Any]
) -> None:
    assert rest_of(LIVE, patch, node_of("apps", "Deployment")) == rest
