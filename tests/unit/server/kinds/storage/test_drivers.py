"""Storage drivers, the nodes that have them, attachments and capacities."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.server.kinds.creating import created, errors, updated

STORAGE = "storage.k8s.io/v1"


def test_a_driver_is_completed() -> None:
    assert created(STORAGE, "CSIDriver", spec={})["spec"] == {
        "attachRequired": True,
        "podInfoOnMount": False,
        "storageCapacity": False,
        "fsGroupPolicy": "ReadWriteOnceWithFSType",
        "volumeLifecycleModes": ["Persistent"],
        "requiresRepublish": False,
        "seLinuxMount": False,
    }


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        (
            {"fsGroupPolicy": "X"},
            'spec.fsGroupPolicy: Unsupported value: "X": supported values: "File", "None", '
            '"ReadWriteOnceWithFSType"',
        ),
        (
            {"tokenRequests": [{"audience": "a"}, {"audience": "a"}]},
            'spec.tokenRequests[1].audience: Duplicate value: "a"',
        ),
        (
            {"tokenRequests": [{"audience": "a", "expirationSeconds": 1}]},
            "spec.tokenRequests[0].expirationSeconds: Invalid value: 1: may not specify a duration "
            "less than 10 minutes",
        ),
        (
            {"volumeLifecycleModes": ["X"]},
            'spec.volumeLifecycleModes: Unsupported value: "X": supported values: "Persistent", '
            '"Ephemeral"',
        ),
        (
            {"nodeAllocatableUpdatePeriodSeconds": 1},
            "spec.nodeAllocatableUpdatePeriodSeconds: Invalid value: 1: must be greater than or "
            "equal to 10 seconds",
        ),
        (
            {"serviceAccountTokenInSecrets": False},
            "spec.serviceAccountTokenInSecrets: Invalid value: false: "
            "serviceAccountTokenInSecrets is set but no tokenRequests are specified",
        ),
    ],
)
def test_drivers(spec: dict[str, Any], problem: str) -> None:
    assert errors(STORAGE, "CSIDriver", spec=spec) == [problem]


def test_what_a_driver_may_not_change() -> None:
    old = created(STORAGE, "CSIDriver", spec={})

    assert updated(old, {"spec": {"attachRequired": False}})[1] == [
        "spec.attachedRequired: Invalid value: false: field is immutable"
    ]


def test_drivers_on_a_node() -> None:
    drivers = [
        {"name": "a", "nodeID": ""},
        {"name": "a", "nodeID": "n", "allocatable": {"count": -1}, "topologyKeys": ["k", "k"]},
    ]

    assert errors(STORAGE, "CSINode", spec={"drivers": drivers}) == [
        "spec.drivers[0].nodeID: Required value",
        "spec.drivers[1].allocatable.count: Invalid value: -1: must be greater than or equal to 0",
        'spec.drivers[1].name: Duplicate value: "a"',
        'spec.drivers[1]: Duplicate value: "k"',
    ]


def test_an_attachment_names_one_volume() -> None:
    one = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"
    spec = {"attacher": "a", "nodeName": "n"}

    assert errors(STORAGE, "VolumeAttachment", spec={**spec, "source": {}}) == [
        f"spec.source: Required value: {one}"
    ]
    both = {"persistentVolumeName": "v", "inlineVolumeSpec": {}}
    assert errors(STORAGE, "VolumeAttachment", spec={**spec, "source": both}) == [
        f"spec.source: Forbidden: {one}"
    ]
    good = {"persistentVolumeName": "v"}
    assert errors(STORAGE, "VolumeAttachment", spec={**spec, "source": good}) == []


INLINE = {"accessModes": ["ReadWriteOnce"], "csi": {"driver": "d", "volumeHandle": "h"}}
NOT_INLINE = "may not be specified in the context of inline volumes"


@pytest.mark.parametrize(
    ("change", "problems"),
    [
        ({}, []),
        ({"capacity": {"storage": "1Gi"}, "claimRef": {"name": "a"}, "storageClassName": "c",
          "nodeAffinity": {}},
         [f"claimRef: Forbidden: {NOT_INLINE}", f"capacity: Forbidden: {NOT_INLINE}",
          f"nodeAffinity: Forbidden: {NOT_INLINE}", f"storageClassName: Forbidden: {NOT_INLINE}"]),
        ({"csi": None, "nfs": {"server": "s"}, "accessModes": []},
         ["csi: Required value: has to be specified in the context of inline volumes",
          "accessModes: Required value", "nfs.path: Required value",
          'nfs.path: Invalid value: "": must be an absolute path']),
        ({"persistentVolumeReclaimPolicy": "Delete", "volumeMode": "Block"},
         ["persistentVolumeReclaimPolicy: Forbidden: may only be Retain in the context of inline "
          "volumes",
          "volumeMode: Forbidden: may not specify volumeMode other than Filesystem in the context "
          "of inline volumes"]),
    ],
)  # fmt: skip
def test_a_volume_that_is_no_object_says_only_how_it_is_attached(
    change: dict[str, Any], problems: list[str]
) -> None:
    source = {"inlineVolumeSpec": {**INLINE, **change}}
    spec = {"attacher": "a", "nodeName": "n", "source": source}

    found = errors(STORAGE, "VolumeAttachment", spec=spec)

    assert found == [f"spec.source.inlineVolumeSpec.{text}" for text in problems]


def test_a_storage_capacity_is_not_negative() -> None:
    assert errors(STORAGE, "CSIStorageCapacity", storageClassName="c", capacity="-1") == [
        'capacity: Invalid value: "-1": must be greater than or equal to 0'
    ]


def test_a_storage_driver_of_a_node_may_change_only_its_count() -> None:
    driver = {"name": "a.com", "nodeID": "n", "topologyKeys": ["k"]}
    node = created("storage.k8s.io/v1", "CSINode", spec={"drivers": [driver]})

    _, counted = updated(node, {"spec": {"drivers": [{**driver, "allocatable": {"count": 5}}]}})
    _, moved = updated(node, {"spec": {"drivers": [{**driver, "nodeID": "m"}]}})
    _, replaced = updated(node, {"spec": {"drivers": [{"name": "b.com", "nodeID": "m"}]}})

    assert counted == replaced == []
    assert moved == [
        'spec.drivers: Invalid value: {"Name":"a.com","NodeID":"m","TopologyKeys":["k"],'
        '"Allocatable":null}: field is immutable'
    ]


@pytest.mark.parametrize(("given", "shown"), [({}, None), ({"topologyKeys": ["a"]}, ["a"])])
def test_a_node_shows_that_a_driver_has_no_topology(given: dict[str, Any], shown: Any) -> None:
    driver = {"name": "d", "nodeID": "n", **given}

    made = created(STORAGE, "CSINode", spec={"drivers": [driver]})

    assert made["spec"]["drivers"][0]["topologyKeys"] == shown


def test_a_share_of_azure_shows_that_its_secret_has_no_namespace() -> None:
    source = {"secretName": "s", "shareName": "n"}

    made = created("v1", "PersistentVolume", spec={"azureFile": source})

    assert made["spec"]["azureFile"] == source | {"secretNamespace": None}
