"""Values that have one owner, whatever is in them."""

from __future__ import annotations

from typing import Any

import pytest

from proreus.api.group_version import GroupVersionKind
from proreus.api.patch.apply import server_side_apply
from proreus.api.patch.ownership import Endpoint
from proreus.server.schema.check import zero
from proreus.server.schema.definitions import Definitions


def owned(group: str, kind: str, body: dict[str, Any]) -> Any:
    """The fields that a manager owns who applied this body and made the object by it."""
    gvk = GroupVersionKind(group, "v1", kind)
    node = Definitions.load().node(gvk)
    assert node is not None
    metadata = {"name": "a", **body.get("metadata", {})}
    made = server_side_apply(
        None,
        {"apiVersion": gvk.api_version, "kind": kind, **body, "metadata": metadata},
        node,
        manager="one",
        force=False,
        now=1_000_000_000,
        api_version=gvk.api_version,
        endpoint=Endpoint(empty=zero(node)),
    )
    assert isinstance(made, dict), "nothing is converted"
    return made["metadata"]["managedFields"][0]["fieldsV1"]


@pytest.mark.parametrize(
    ("kind", "body", "field", "element"),
    [
        ("ConfigMap", {"metadata": {"ownerReferences": [{"uid": "u", "name": "n"}]}},
         ("f:metadata", "f:ownerReferences"), 'k:{"uid":"u"}'),
        ("ServiceAccount", {"secrets": [{"name": "s"}]},
         ("f:secrets",), 'k:{"name":"s"}'),
    ],
)  # fmt: skip
def test_an_element_of_an_atomic_type_is_owned_whole(
    kind: str, body: dict[str, Any], field: tuple[str, ...], element: str
) -> None:
    fields = owned("", kind, body)

    for step in field:
        fields = fields[step]
    assert fields == {element: {}}


def test_raw_values_are_owned_whole() -> None:
    fields = owned("apps", "ControllerRevision", {"data": {"a": {"b": 1}}, "revision": 1})

    assert fields == {"f:data": {}, "f:revision": {}}


def test_a_claim_of_a_volume_is_owned_by_field() -> None:
    fields = owned("", "PersistentVolume", {"spec": {"claimRef": {"name": "c", "namespace": "n"}}})

    assert fields == {"f:spec": {"f:claimRef": {"f:name": {}, "f:namespace": {}}}}
