"""Classes of storage, what hands out volumes by them, and what attaches them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.server.kinds.creating import created, errors, status_errors, updated

STORAGE = "storage.k8s.io/v1"
ZONES = {"key": "zone", "values": ["a", "b"]}


@pytest.mark.parametrize(
    ("kind", "fields", "problems"),
    [
        ("StorageClass",
         {"provisioner": "a", "allowedTopologies": [
             {"matchLabelExpressions": [{"key": "zone", "values": ["a", "a"]},
                                        {"key": "zone", "values": []}]}]},
         ['allowedTopologies[0].matchLabelExpressions[0].values[1]: Duplicate value: "a"',
          "allowedTopologies[0].matchLabelExpressions[1].values: Required value",
          'allowedTopologies[0].matchLabelExpressions[1].key: Duplicate value: "zone"']),
        ("StorageClass",
         {"provisioner": "a", "allowedTopologies": [{"matchLabelExpressions": [ZONES]},
                                                    {"matchLabelExpressions": [ZONES]}]},
         ['allowedTopologies[1].matchLabelExpressions: Duplicate value: ""']),
        ("StorageClass",
         {"provisioner": "a", "allowedTopologies": [{"matchLabelExpressions": [ZONES]}, {}]},
         ['allowedTopologies[1].matchLabelExpressions: Duplicate value: ""'] * 2),
        ("StorageClass", {"provisioner": "a", "parameters": {str(n): "x" for n in range(513)}},
         ["parameters: Too long: may not be more than 512 bytes"]),
        ("StorageClass", {"provisioner": "a", "parameters": {"": "x", "k": "y" * 262144}},
         ['parameters: Invalid value: "": field can not be empty.',
          "parameters: Too long: may not be more than 262144 bytes"]),
        ("VolumeAttributesClass", {"driverName": ""},
         ["driverName: Required value",
          "parameters: Required value: must contain at least one key/value pair"]),
        ("CSINode", {"spec": {"drivers": [{"name": "a", "nodeID": "n",
                                           "topologyKeys": ["a b"]}]}},
         ['spec.drivers[0]: Invalid value: "a b": name part must consist of alphanumeric '
          "characters, '-', '_' or '.', and must start and end with an alphanumeric character "
          "(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
          "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"]),
    ],
)  # fmt: skip
def test_classes_are_validated(kind: str, fields: dict[str, Any], problems: list[str]) -> None:
    assert errors(STORAGE, kind, **fields) == problems


def test_a_class_of_attributes_may_not_be_changed() -> None:
    old = created(STORAGE, "VolumeAttributesClass", driverName="a", parameters={"k": "v"})

    _, found = updated(old, {"driverName": "b", "parameters": {"k": "w"}})

    assert found == [
        "driverName: Forbidden: updates to driverName are forbidden.",
        "parameters: Forbidden: updates to parameters are forbidden.",
    ]


def test_the_policy_of_a_driver_for_groups_may_change_but_not_its_modes() -> None:
    old = created(STORAGE, "CSIDriver", spec={})

    _, of_groups = updated(old, {"spec": {"fsGroupPolicy": "None"}})
    _, of_modes = updated(old, {"spec": {"volumeLifecycleModes": ["Ephemeral"]}})

    assert of_groups == []
    assert of_modes == [
        'spec.volumeLifecycleModes: Invalid value: ["Ephemeral"]: field is immutable'
    ]


def test_errors_of_attaching_are_bounded() -> None:
    source = {"persistentVolumeName": "v"}
    old = created(
        STORAGE, "VolumeAttachment", spec={"attacher": "a", "nodeName": "n", "source": source}
    )

    found = status_errors(old, {"attached": False, "attachError": {"message": "x" * 1025}})

    assert found == ["status.attachError.message: Too long: may not be more than 262144 bytes"]
