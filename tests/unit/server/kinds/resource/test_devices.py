"""Device classes and slices of devices."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.server.kinds.creating import created, errors, updated

RESOURCE = "resource.k8s.io/v1"
POOL = {"name": "p", "resourceSliceCount": 1}
SLICE = {"driver": "d.example.com", "pool": POOL, "nodeName": "n"}
TEN = "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]"
TOO_COMPLEX = (
    f"{TEN}.all(a, {TEN}.all(b, {TEN}.all(c, {TEN}.all(d, {TEN}.all(e, {TEN}.all(f, a < f))))))"
)
ONE_PLACE = (
    "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required"
)


@pytest.mark.parametrize(
    ("spec", "problems"),
    [
        ({}, []),
        ({"selectors": [{}]}, ["spec.selectors[0].cel: Required value"]),
        ({"config": [{}]}, ["spec.config[0].opaque: Required value"]),
        ({"config": [{"opaque": {"driver": ""}}]},
         ["spec.config[0].opaque.driver: Required value",
          "spec.config[0].opaque.parameters: Required value"]),
        ({"selectors": [{"cel": {"expression": "device.driver == 'd.example.com' && "
                                 "device.attributes['d.example.com'].size > 1"}}]}, []),
        ({"selectors": [{"cel": {"expression": "device.driver"}}]},
         ['spec.selectors[0].cel.expression: Invalid value: "device.driver": must evaluate to bool '
          "or the unknown type, not string"]),
        ({"selectors": [{"cel": {"expression": "'" + "x" * 10240 + "' == ''"}}]},
         ["spec.selectors[0].cel.expression: Too long: may not be more than 10240 bytes"]),
        ({"selectors": [{"cel": {"expression": TOO_COMPLEX}}]},
         ["spec.selectors[0].cel.expression: Forbidden: too complex, exceeds cost limit"]),
        ({"selectors": [{"cel": {"expression": "true"}}] * 33},
         ["spec.selectors: Too many: 33: must have at most 32 items"]),
        ({"extendedResourceName": "cpu"},
         ['spec.extendedResourceName: Invalid value: "cpu": must be a valid extended resource '
          "name"]),
    ],
)  # fmt: skip
def test_a_device_class(spec: dict[str, Any], problems: list[str]) -> None:
    assert errors(RESOURCE, "DeviceClass", spec=spec) == problems


@pytest.mark.parametrize(
    ("change", "problems"),
    [
        ({}, []),
        ({"driver": ""}, ["spec.driver: Required value"]),
        ({"pool": {"name": ""}},
         ["spec.pool.name: Required value",
          "spec.pool.resourceSliceCount: Invalid value: 0: must be greater than zero"]),
        ({"nodeName": None}, [f"spec: Required value: {ONE_PLACE}"]),
        ({"allNodes": True},
         ['spec: Invalid value: "{`nodeName`, `allNodes`}": '
          f"{ONE_PLACE}, but multiple fields are set"]),
        ({"devices": [{"name": "a"}, {"name": "a"}]}, ['spec.devices[1]: Duplicate value: "a"']),
        ({"devices": [{"name": "a", "attributes": {"x": {}}}]},
         ['spec.devices[0].attributes[x]: Invalid value: "": exactly one value must be '
          "specified"]),
    ],
)  # fmt: skip
def test_a_slice_of_devices(change: dict[str, Any], problems: list[str]) -> None:
    assert errors(RESOURCE, "ResourceSlice", spec={**SLICE, **change}) == problems


def test_a_slice_stays_with_its_driver_pool_and_node() -> None:
    old = created(RESOURCE, "ResourceSlice", spec=SLICE)

    assert updated(old, {"spec": {"devices": [{"name": "a"}]}})[1] == []
    assert updated(old, {"spec": {"driver": "e", "nodeName": "m"}})[1] == [
        'spec.driver: Invalid value: "e": field is immutable',
        'spec.nodeName: Invalid value: "m": field is immutable',
    ]
