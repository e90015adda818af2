"""Persistent volumes."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.server.kinds.creating import errors

VOLUME = {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}}
HOST_PATH_VOLUME = {
    "capacity": {"storage": "1Gi"},
    "accessModes": ["ReadWriteOnce"],
    "hostPath": {"path": "/x"},
}


def test_of_two_sources_of_a_volume_the_first_one_kubernetes_looks_for_is_validated() -> None:
    spec = {**VOLUME, "nfs": {"server": "s", "path": "x"}, "hostPath": {"path": ""}}

    assert errors("v1", "PersistentVolume", spec=spec) == [
        "spec.hostPath.path: Required value",
        "spec.nfs: Forbidden: may not specify more than 1 volume type",
    ]


def test_a_flex_volume_is_validated_beside_other_sources() -> None:
    spec = {**HOST_PATH_VOLUME, "flexVolume": {}, "nfs": {"server": "s", "path": "/x"}}

    assert errors("v1", "PersistentVolume", spec=spec) == [
        "spec.nfs: Forbidden: may not specify more than 1 volume type",
        "spec.flexVolume.driver: Required value",
    ]


def test_a_local_volume_stays_below_its_root_and_says_where_it_is() -> None:
    assert errors("v1", "PersistentVolume", spec={**VOLUME, "local": {"path": "../x"}}) == [
        "spec.local.path: Invalid value: \"../x\": must not contain '..'",
        "spec.nodeAffinity: Required value: Local volume requires node affinity",
    ]


@pytest.mark.parametrize(
    ("spec", "problems"),
    [
        ({"capacity": {}},
         ["spec.capacity: Required value",
          'spec.capacity: Unsupported value: {}: supported values: "storage"']),
        ({"capacity": None},
         ["spec.capacity: Required value",
          'spec.capacity: Unsupported value: null: supported values: "storage"']),
        ({"volumeAttributesClassName": "a"},
         ["spec.csi: Required value: has to be specified when using volumeAttributesClassName"]),
        ({"hostPath": None, "csi": {"driver": "d", "volumeHandle": "h",
                                    "nodePublishSecretRef": {"name": "s"}}},
         ["spec.csi.nodePublishSecretRef.namespace: Required value"]),
        ({"nfs": {"server": "s", "path": "/p"}},
         ["spec.nfs: Forbidden: may not specify more than 1 volume type"]),
    ],
)  # fmt: skip
def test_a_persistent_volume_is_validated(spec: dict[str, Any], problems: list[str]) -> None:
    given = {key: value for key, value in {**HOST_PATH_VOLUME, **spec}.items() if value is not None}

    assert errors("v1", "PersistentVolume", spec=given) == problems
