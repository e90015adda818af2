"""Whether a claim is in use."""

from __future__ import annotations

from typing import Any

import pytest

from proreus.api.object import KubeObject
from proreus.cluster.controllers.storage_protection import attributes_classes_of, is_used
from proreus.cluster.volumes.pod_claims import claims_of

CLAIM = KubeObject.from_dict({"metadata": {"name": "data", "namespace": "default"}})
MOUNT = {"name": "v", "persistentVolumeClaim": {"claimName": "data"}}


def pod(volume: dict[str, Any], *, node: str = "n1", phase: str = "Running") -> KubeObject:
    metadata = {"name": "web", "namespace": "default"}
    spec = {"nodeName": node, "volumes": [volume]}
    return KubeObject.from_dict({"metadata": metadata, "spec": spec, "status": {"phase": phase}})


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (pod(MOUNT), True),
        (pod(MOUNT, node=""), False),
        (pod(MOUNT, phase="Succeeded"), False),
        (pod({"name": "v", "emptyDir": {}}), False),
    ],
    ids=["mounted", "not placed", "over", "another volume"],
)
def test_a_claim_is_used_by_pods_that_run_on_a_node(found: KubeObject, expected: bool) -> None:
    assert is_used(CLAIM, [found]) is expected


def test_an_ephemeral_volume_is_a_claim_named_after_its_pod() -> None:
    assert claims_of(pod({"name": "v", "ephemeral": {}})) == ["default/web-v"]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ({"spec": {"volumeAttributesClassName": "a"}}, ["a"]),
        ({"status": {"currentVolumeAttributesClassName": "a"}}, ["a"]),
        ({"spec": {"volumeAttributesClassName": "b"},
          "status": {"currentVolumeAttributesClassName": "a",
                     "modifyVolumeStatus": {"targetVolumeAttributesClassName": "b"}}}, ["b", "a"]),
        ({"spec": {}, "status": {"modifyVolumeStatus": {"status": "Pending"}}}, []),
    ],
    ids=["named", "in force", "changing", "none"],
)  # fmt: skip
def test_a_class_is_used_by_who_names_it_has_it_or_changes_to_it(
    content: dict[str, Any], expected: list[str]
) -> None:
    claim = KubeObject.from_dict({"metadata": {"name": "data", "namespace": "default"}, **content})
    assert attributes_classes_of(claim) == expected
