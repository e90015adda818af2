"""Device classes and slices of devices."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.server.kinds.creating import created, errors, rules_of, status_errors, updated
from tests.unit.server.kinds.printing import cells

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
         ["spec.config[0].opaque.parameters: Required value",
          "spec.config[0].opaque.driver: Required value"]),
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
        ({"devices": [{"name": "a", "attributes": {"x": {"string": "s", "int": 1}}}]},
         ['spec.devices[0].attributes[x]: Invalid value: "{int, string}": must specify exactly '
          "one of: `bool`, `int`, `string`, `version`"]),
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


@pytest.mark.parametrize(
    ("spec", "problems"),
    [
        ({"taint": {"key": "a.b/c", "effect": "NoSchedule"}}, []),
        ({"taint": {"key": "", "effect": ""}},
         ['spec.taint.key: Invalid value: "": name part must be non-empty', "spec.taint.key",
          "spec.taint.effect: Required value"]),
        ({"deviceSelector": {"driver": "", "pool": "a//b", "device": "A"},
          "taint": {"key": "k", "value": "-", "effect": "Odd"}},
         ["spec.deviceSelector.driver: Required value", "spec.deviceSelector.pool",
          "spec.deviceSelector.device", "spec.taint.value",
          'spec.taint.effect: Unsupported value: "Odd": supported values: "NoExecute", '
          '"NoSchedule", "None"']),
    ],
)  # fmt: skip
def test_a_rule_that_taints_devices(spec: dict[str, Any], problems: list[str]) -> None:
    found = errors("resource.k8s.io/v1", "DeviceTaintRule", spec=spec)

    assert [
        text if wanted.count(":") else text.partition(":")[0]
        for text, wanted in zip(found, problems, strict=True)
    ] == problems


def test_a_taint_says_when_it_was_added() -> None:
    spec = {"taint": {"key": "k", "effect": "NoExecute"}}
    made = created("resource.k8s.io/v1", "DeviceTaintRule", spec=spec)

    assert made["spec"]["taint"]["timeAdded"] == made["metadata"]["creationTimestamp"]
    assert cells("resource.k8s.io", "DeviceTaintRule", {"spec": spec}) == [
        "x", "k", "", "NoExecute", "", "60s",
    ]  # fmt: skip


def test_conditions_of_a_rule_that_taints_devices_are_validated() -> None:
    spec = {"taint": {"key": "k", "effect": "NoExecute"}}
    rule = {**created(RESOURCE, "DeviceTaintRule", spec=spec), "status": {}}
    good = {"type": "T", "status": "True", "reason": "R", "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z"}  # fmt: skip

    assert status_errors(rule, {"conditions": [good]}) == []
    assert status_errors(rule, {"conditions": [{**good, "status": "Odd"}]}) == [
        'status.conditions[0].status: Unsupported value: "Odd": supported values: "False", "True", '
        '"Unknown"'
    ]
    many = [{**good, "type": f"T{n}"} for n in range(9)]
    assert status_errors(rule, {"conditions": many}) == [
        "status.conditions: Too many: 9: must have at most 8 items"
    ]


def test_a_taint_of_a_new_slice_says_when_it_was_added() -> None:
    old, taint = "2020-01-01T00:00:00Z", {"key": "k", "effect": "NoExecute"}
    devices = [{"name": "a", "taints": [taint, {**taint, "timeAdded": old}]}, {"name": "b"}]
    made = created(RESOURCE, "ResourceSlice", spec={**SLICE, "devices": devices})

    times = [taint["timeAdded"] for taint in made["spec"]["devices"][0]["taints"]]
    assert times == [made["metadata"]["creationTimestamp"], old]


@pytest.mark.parametrize("driver", ["gpu.example.com", "GPU.example.com"])
def test_a_driver_with_capital_letters_is_warned_about(driver: str) -> None:
    made = created(RESOURCE, "ResourceSlice", spec={**SLICE, "driver": driver})
    why = f'driver names should be lowercase; "{driver}" contains uppercase characters'

    warned = [f"spec.driver: {why}"] if driver[0] == "G" else []
    assert rules_of(made).warnings(made) == warned


def device_errors(device: dict[str, Any], **spec: Any) -> list[str]:
    """Without the path of the device."""
    spec = {**SLICE, **spec, "devices": [{"name": "a", **device}]}
    found = errors(RESOURCE, "ResourceSlice", spec=spec)
    return [text.removeprefix("spec.devices[0]").removeprefix(".") for text in found]


NO_IDENTIFIER = (
    "a valid C identifier must start with alphabetic character or '_', followed by a string of "
    "alphanumeric characters or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for "
    "validation is '[A-Za-z_][A-Za-z0-9_]*')"
)


@pytest.mark.parametrize(
    ("attributes", "problems"),
    [
        ({"a.example.com/size_2": {"int": 1}, "b/c/d": {"bool": False}}, []),
        ({"a-b": {"int": 1}}, [f'[a-b]: Invalid value: "a-b": {NO_IDENTIFIER}']),
        ({"/": {"int": 1}}, ['[/]: Invalid value: "": the domain must not be empty',
                             '[/]: Invalid value: "": the name must not be empty']),
        ({"a" * 33: {"int": 1}}, [f"[{'a' * 33}]: Too long: may not be more than 32 bytes"]),
        ({"b" * 50 + "/" + "c" * 60: {"int": 1}},
         [f"[{'b' * 47}...{'c' * 46}]: Too long: may not be more than 32 bytes"]),
        ({"v": {"version": "1.2"}},
         ['[v].version: Invalid value: "1.2": must be a string compatible with semver.org spec '
          "2.0.0"]),
        ({"v": {"version": "1.2.3-rc.1+b"}, "w": {"string": "x" * 65}},
         ["[w].string: Too long: may not be more than 64 bytes"]),
    ],
)  # fmt: skip
def test_attributes_of_a_device(attributes: dict[str, Any], problems: list[str]) -> None:
    wanted = [f"attributes{problem}" for problem in problems]

    assert device_errors({"attributes": attributes}) == wanted


def test_attributes_and_capacities_are_counted_together() -> None:
    device = {
        "attributes": {f"a{index}": {"int": 1} for index in range(20)},
        "capacity": {f"c{index}": {"value": "1"} for index in range(13)},
    }

    assert device_errors(device) == [
        ": Invalid value: 33: the total number of attributes and capacities must not exceed 32"
    ]


@pytest.mark.parametrize(
    ("policy", "problems"),
    [
        ({"default": "2", "validValues": ["1", "2"]}, []),
        ({"default": "2", "validValues": ["3", "1", "11"]},
         ['.validValues[1]: Invalid value: "1": values must be sorted in ascending order',
          '.validValues[2]: Invalid value: "11": option is larger than capacity value: 10',
          '.validValues: Invalid value: "2": default value is not valid according to the '
          "requestPolicy"]),
        ({"default": "1", "validValues": ["1", "1"]},
         ['.validValues[1]: Duplicate value: "1"']),
        ({"validValues": ["1"]},
         [".default: Required value: required when validValues is defined"]),
        ({"validValues": ["1"], "validRange": {}},
         [': Forbidden: exactly one policy can be specified, cannot specify "validValues" and '
          '"validRange" at the same time']),
        ({"default": "1", "validRange": {}},
         [".validRange.min: Required value: required when validRange is defined"]),
        ({"default": "1", "validRange": {"min": "2", "max": "20", "step": "9"}},
         ['.validRange.min: Invalid value: "1": default is less than min: 2',
          '.validRange.max: Invalid value: "20": max is larger than capacity value: 10',
          '.validRange.step: Invalid value: "9": one step 11 is larger than capacity value: 10',
          '.validRange.step: Invalid value: "1": value is not a multiple of a given step (9) '
          "from (2)"]),
        ({"default": "12", "validRange": {"min": "11", "max": "10"}},
         ['.validRange.min: Invalid value: "11": min is larger than capacity value: 10',
          '.validRange.max: Invalid value: "11": min is larger than max: 10',
          '.validRange.max: Invalid value: "12": default is more than max: 10']),
    ],
)  # fmt: skip
def test_capacities_that_claims_share(policy: dict[str, Any], problems: list[str]) -> None:
    capacity = {"c": {"value": "10", "requestPolicy": policy}}
    wanted = [f"capacity[c].requestPolicy{problem}" for problem in problems]

    assert device_errors({"capacity": capacity, "allowMultipleAllocations": True}) == wanted
    assert device_errors({"capacity": capacity}) == [
        "capacity[c].requestPolicy: Forbidden: allowMultipleAllocations must be true"
    ]


PER_DEVICE = (
    "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when "
    "`perDeviceNodeSelection` is set to true in the ResourceSlice spec"
)


@pytest.mark.parametrize(
    ("place", "problems"),
    [
        ({"nodeName": "n"}, []),
        ({}, [f": Required value: {PER_DEVICE}"]),
        ({"nodeName": "n", "allNodes": True},
         [f': Invalid value: "{{`nodeName`, `allNodes`}}": {PER_DEVICE}']),
        ({"nodeName": "", "allNodes": False},
         ['nodeName: Invalid value: "": must not be empty',
          "allNodes: Invalid value: false: must be either unset or set to true",
          f": Required value: {PER_DEVICE}"]),
    ],
)  # fmt: skip
def test_the_nodes_of_a_device(place: dict[str, Any], problems: list[str]) -> None:
    assert device_errors(place, nodeName=None, perDeviceNodeSelection=True) == problems


def test_a_device_has_no_nodes_of_its_own_if_its_slice_has_some() -> None:
    [problem] = device_errors({"allNodes": True})

    assert problem.startswith(": Invalid value: null: `nodeName`, `nodeSelector` and `allNodes`")


def test_conditions_that_bind_a_device() -> None:
    given = {"bindingConditions": ["a", "a"], "bindingFailureConditions": ["a", "b"]}

    assert device_errors(given) == [
        'bindingConditions[1]: Duplicate value: "a"',
        'bindingFailureConditions[0]: Invalid value: "a": bindingFailureConditions must not '
        "overlap with bindingConditions",
    ]
    assert device_errors({"bindingConditions": ["a"]}) == [
        "bindingFailureConditions: Invalid value: null: bindingFailureConditions are required to "
        "use bindingConditions"
    ]


def test_what_types_declare_of_a_device_comes_last() -> None:
    device = {
        "attributes": {"x": {}},
        "taints": [{"key": "k", "effect": "Odd"}],
        "consumesCounters": [{"counterSet": "s"}, {"counterSet": "s", "counters": {"c": {}}}],
        "nodeName": "n",
    }

    found = [text.partition(":")[0] for text in device_errors(device)]

    assert found == [
        "consumesCounters[0].counters", "", "attributes[x]", "taints[0].effect",
        "consumesCounters[1]",
    ]  # fmt: skip


def test_counters_that_devices_share() -> None:
    counters = {"A": {"value": "1"}}
    sets = [{"name": "s", "counters": counters}, {"name": "s"}, {"counters": {"a": {}}}]

    found = errors(RESOURCE, "ResourceSlice", spec={**SLICE, "sharedCounters": sets})

    assert [text.partition(":")[0] for text in found] == [
        "spec.sharedCounters[0].counters[A]", "spec.sharedCounters[1].counters",
        "spec.sharedCounters[2].name", "spec.sharedCounters[1]",
    ]  # fmt: skip


def test_taints_that_a_device_had_are_not_checked_again() -> None:
    old = created(RESOURCE, "ResourceSlice", spec=SLICE)
    old["spec"]["devices"] = [{"name": "a", "taints": [{"key": "-", "effect": "NoSchedule"}]}]
    added = [{"key": "-", "effect": "NoSchedule"}, {"key": "k", "effect": "NoSchedule"}]

    assert updated(old, {"spec": {"pool": {**POOL, "generation": 2}}})[1] == []
    assert updated(old, {"spec": {"devices": [{"name": "a", "taints": added}]}})[1] != []


USER = {"resource": "pods", "name": "p", "uid": "u"}
RESULT = {"request": "r", "driver": "d.example.com", "pool": "p", "device": "a"}
ALLOCATION = {"devices": {"results": [RESULT]}}
REPORT = {"driver": "d.example.com", "pool": "p", "device": "a"}


def claim(status: Any = None) -> dict[str, Any]:
    request = {"name": "r", "exactly": {"deviceClassName": "c"}}
    made = created(RESOURCE, "ResourceClaim", spec={"devices": {"requests": [request]}})
    return {**made, "status": status or {}}


@pytest.mark.parametrize(
    ("status", "problems"),
    [
        ({"allocation": ALLOCATION, "reservedFor": [USER], "devices": [REPORT]}, []),
        ({"reservedFor": [USER]},
         ["status.reservedFor: Forbidden: may not be specified when `allocated` is not set"]),
        ({"allocation": ALLOCATION, "reservedFor": [{}]},
         ["status.reservedFor[0].resource: Required value",
          "status.reservedFor[0].name: Required value",
          "status.reservedFor[0].uid: Required value"]),
        ({"allocation": ALLOCATION, "reservedFor": [USER, USER]},
         ['status.reservedFor[1]: Duplicate value: {"resource":"pods","name":"p","uid":"u"}']),
        ({"devices": [REPORT]},
         ["status.devices[0]: Invalid value: d.example.com/p/a: must be an allocated device in the "
          "claim"]),
        ({"allocation": {"devices": {"results": [{**RESULT, "request": "x"}]}}},
         ['status.allocation.devices.results[0].request: Invalid value: "x": must be the name of a '
          "request in the claim or the name of a request and a subrequest separated by '/'"]),
        ({"allocation": {"devices": {"results": [{**RESULT, "driver": "", "pool": ""}]}}},
         ["status.allocation.devices.results[0].driver: Required value",
          "status.allocation.devices.results[0].pool: Required value"]),
        ({"allocation": {"devices": {"config": [{"source": "Odd"}]}}},
         ["status.allocation.devices.config[0].opaque: Required value",
          'status.allocation.devices.config[0].source: Unsupported value: "Odd": supported values: '
          '"FromClaim", "FromClass"']),
        ({"allocation": {"nodeSelector": {"nodeSelectorTerms": []}}},
         ["status.allocation.nodeSelector.nodeSelectorTerms: Required value: must have at least "
          "one node selector term"]),
    ],
)  # fmt: skip
def test_the_status_of_a_claim(status: dict[str, Any], problems: list[str]) -> None:
    assert status_errors(claim(), status) == problems


def test_an_allocation_is_made_and_taken_away_and_never_changed() -> None:
    other = {"devices": {"results": [{**RESULT, "device": "b"}]}}

    assert status_errors(claim({"allocation": ALLOCATION}), {"allocation": None}) == []
    assert status_errors(claim({"allocation": ALLOCATION}), {"allocation": other}) == [
        "status.allocation: Invalid value: null: field cannot be modified once set"
    ]


def test_a_claim_that_is_being_deleted_gets_no_more_users() -> None:
    old = claim({"allocation": ALLOCATION, "reservedFor": [USER]})
    old["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"

    assert status_errors(old, {"reservedFor": [USER, {**USER, "uid": "v"}]}) == [
        "status.reservedFor: Forbidden: new entries may not be added while `deallocationRequested` "
        "or `deletionTimestamp` are set"
    ]


def test_what_drivers_tell_of_devices_goes_with_their_allocation() -> None:
    old = claim({"allocation": ALLOCATION, "devices": [REPORT]})
    new = {**old, "status": {"devices": [REPORT, {**REPORT, "device": "b"}]}}

    rules_of(old).prepare_status(new, old)

    assert new["status"] == {"devices": [{**REPORT, "device": "b"}]}
