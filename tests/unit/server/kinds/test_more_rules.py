"""Rules of workloads, volumes, claims and devices where Kubernetes is not what one expects."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.server.kinds.creating import (
    CONTAINER,
    SELECTOR,
    TEMPLATE,
    container_errors,
    created,
    errors,
    rules_of,
    status_errors,
    updated,
)

NO_MATCH = "`selector` does not match template `labels`"
PERCENT = (
    "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or "
    "'93%', regex used for validation is '[0-9]+%')"
)
VOLUME = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"]}
CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}


@pytest.mark.parametrize(
    ("spec", "problems"),
    [
        ({"selector": None},
         [f'spec.template.metadata.labels: Invalid value: {{"app":"a"}}: {NO_MATCH}']),
        ({"selector": {"matchExpressions": [{"key": "a", "operator": "Odd"}]},
          "template": {**TEMPLATE, "spec": {"containers": []}}},
         ['spec.selector.matchExpressions[0].operator: Invalid value: "Odd": not a valid selector '
          "operator", "spec.template.spec.containers: Required value"]),
        ({"updateStrategy": {"rollingUpdate": {"maxUnavailable": 1, "maxSurge": "x"}}},
         [f'spec.updateStrategy.rollingUpdate.maxSurge: Invalid value: "x": {PERCENT}']),
    ],
)  # fmt: skip
def test_a_daemon_set_is_validated(spec: dict[str, Any], problems: list[str]) -> None:
    spec = {"selector": SELECTOR, "template": TEMPLATE, **spec}

    assert errors("apps/v1", "DaemonSet", spec=spec) == problems


def test_of_several_handlers_the_first_is_checked_before_the_others_are_too_many() -> None:
    found = container_errors(lifecycle={"preStop": {"exec": {}, "sleep": {"seconds": 1}}})

    assert found == [
        "lifecycle.preStop.exec.command: Required value",
        "lifecycle.preStop.sleep: Forbidden: may not specify more than 1 handler type",
    ]


@pytest.mark.parametrize(
    ("source", "problems"),
    [
        ({"hostPath": {"path": "//."}, "persistentVolumeReclaimPolicy": "Recycle"},
         ["spec.persistentVolumeReclaimPolicy: Forbidden: may not be 'recycle' for a hostPath "
          "mount of '/'"]),
        ({"iscsi": {"targetPortal": "p" * 70, "iqn": "odd", "initiatorName": "x", "secretRef": {},
                    "lun": 0}},
         [f'spec.iscsi.targetportal: Invalid value: "{"p" * 70}": Total length of <volume name>:'
          "<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified.",
          'spec.iscsi.iqn: Invalid value: "odd": must be valid format',
          "spec.iscsi.secretRef.name: Required value",
          'spec.iscsi.initiatorname: Invalid value: "x": must be valid format']),
    ],
)  # fmt: skip
def test_sources_of_persistent_volumes_are_validated(
    source: dict[str, Any], problems: list[str]
) -> None:
    assert errors("v1", "PersistentVolume", spec={**VOLUME, **source}) == problems


def test_how_far_a_claim_is_resized_is_validated() -> None:
    claim = created("v1", "PersistentVolumeClaim", spec=CLAIM)

    found = status_errors(
        claim,
        {
            "allocatedResourceStatuses": {"storage": "Odd"},
            "allocatedResources": {"cpu": "1", "storage": "-1"},
        },
    )

    assert found == [
        'status.allocatedResourceStatus: Unsupported value: "storage": supported values: '
        '"ControllerResizeInProgress", "ControllerResizeInfeasible", "NodeResizeInProgress", '
        '"NodeResizeInfeasible", "NodeResizePending"',
        'status.allocatedResources: Unsupported value: "cpu": supported values: "storage"',
        "status.allocatedResources[storage]: Invalid value: -1: must be a valid resource quantity",
    ]


@pytest.mark.parametrize(
    ("devices", "problems"),
    [
        ({"requests": [{"name": "a", "exactly": {"deviceClassName": "c"},
                        "firstAvailable": [{"name": "b", "deviceClassName": "c"}]}]},
         ["spec.devices.requests[0]: Invalid value: null: exactly one of `exactly` or "
          "`firstAvailable` is required, but multiple fields are set"]),
        ({"requests": [{"name": "a", "exactly": {"deviceClassName": "c", "allocationMode": "All",
                                                 "count": 2}}]},
         ["spec.devices.requests[0].exactly.count: Invalid value: 2: must not be specified when "
          "allocationMode is 'All'"]),
        ({"constraints": [{"requests": ["b"], "matchAttribute": "x"}], "config": [{}]},
         ['spec.devices.constraints[0].requests[0]: Invalid value: "b": must be the name of a '
          "request in the claim or the name of a request and a subrequest separated by '/'",
          "spec.devices.config[0].opaque: Required value",
          'spec.devices.constraints[0].matchAttribute: Invalid value: "x": a fully qualified name '
          "must be a domain and a name separated by a slash"]),
        ({"requests": [{"name": "a", "exactly": {"deviceClassName": "c"}},
                       {"name": "a", "exactly": {"deviceClassName": ""}}]},
         ["spec.devices.requests[1].exactly.deviceClassName: Required value",
          'spec.devices.requests[1]: Duplicate value: {"name":"a","exactly":{"deviceClassName":"",'
          '"allocationMode":"ExactCount","count":1}}']),
        ({"requests": [{"name": "A"}] * 33},
         ["spec.devices.requests: Too many: 33: must have at most 32 items"]),
        ({"requests": [{"name": "a", "exactly": {"deviceClassName": "c", "tolerations": [
            {"operator": "Odd", "effect": "Odd"}, {"operator": "Exists", "value": "v"}]}}]},
         ['spec.devices.requests[0].exactly.tolerations[1].value: Invalid value: "v": must be '
          "empty for operator `Exists`",
          'spec.devices.requests[0].exactly.tolerations[0].operator: Unsupported value: "Odd": '
          'supported values: "Equal", "Exists"',
          'spec.devices.requests[0].exactly.tolerations[0].effect: Unsupported value: "Odd": '
          'supported values: "NoExecute", "NoSchedule", "None"']),
        ({"config": [{"opaque": {"driver": "d", "parameters": [1]}},
                     {"opaque": {"driver": "d", "parameters": {"a": "x" * 10240}}}]},
         ['spec.devices.config[0].opaque.parameters: Invalid value: "<value omitted>": must be a '
          "valid JSON object",
          "spec.devices.config[1].opaque.parameters: Too long: may not be more than 10240 "
          "bytes"]),
    ],
)  # fmt: skip
def test_a_claim_of_devices_is_validated(devices: dict[str, Any], problems: list[str]) -> None:
    assert errors("resource.k8s.io/v1", "ResourceClaim", spec={"devices": devices}) == problems


@pytest.mark.parametrize(
    ("zone", "problem"),
    [("../x", "unknown time zone ../x"), ("-x", "unknown time zone -x"),
     ("Europe/Nowhere", "unknown time zone Europe/Nowhere")],
)  # fmt: skip
def test_the_zone_of_a_cron_job_is_known(zone: str, problem: str) -> None:
    pod = {"restartPolicy": "Never", "containers": [CONTAINER]}
    template = {"spec": {"template": {"spec": pod}}}
    spec = {"schedule": "@daily", "timeZone": zone, "jobTemplate": template}

    found = errors("batch/v1", "CronJob", spec=spec)

    assert found == [f'spec.timeZone: Invalid value: "{zone}": {problem}']


@pytest.mark.parametrize(
    ("version", "kind", "fields", "texts"),
    [
        ("v1", "Service", {"spec": {"ports": [{"port": 1}], "loadBalancerIP": "2001:DB8::1",
                                    "loadBalancerSourceRanges": ["2001:DB8::/64"]}},
         ['spec.loadBalancerIP: IPv6 address "2001:DB8::1" should be in RFC 5952 canonical format '
          '("2001:db8::1")',
          'spec.loadBalancerSourceRanges[0]: IPv6 CIDR value "2001:DB8::/64" should be in RFC 5952 '
          'canonical format ("2001:db8::/64")']),
        ("discovery.k8s.io/v1", "EndpointSlice",
         {"addressType": "IPv6", "endpoints": [{"addresses": ["2001:db8:0::1"]}]},
         ['endpoints[0].addresses[0]: IPv6 address "2001:db8:0::1" should be in RFC 5952 canonical '
          'format ("2001:db8::1")']),
        ("v1", "Pod",
         {"spec": {"containers": [CONTAINER], "volumes": [{"name": "v", "configMap": {
             "name": "m", "items": [{"key": "a", "path": "d"}, {"key": "b", "path": "d/x"}]}},
             {"name": "w", "projected": {"sources": [{}]}}]}},
         ['volume "v" (ConfigMap "m"): overlapping paths: "d/x" with "d"',
          'volume "w" (Projected) has no sources provided']),
    ],
)  # fmt: skip
def test_what_may_not_be_meant_is_warned_of(
    version: str, kind: str, fields: dict[str, Any], texts: list[str]
) -> None:
    obj = created(version, kind, **fields)
    rules = rules_of(obj)

    assert [*rules.warnings_on_create(obj), *rules.warnings(obj)] == texts


@pytest.mark.parametrize(
    ("endpoint", "problems"),
    [
        ({"hints": {"forZones": [{"name": "a"}] * 2, "forNodes": [{"name": "n"}] * 2}},
         ['endpoints[0].hints.forZones[1].name: Duplicate value: "a"',
          'endpoints[0].hints.forNodes[1].name: Duplicate value: "n"']),
        ({"hints": {"forZones": [{"name": "a b"}] * 9}},
         ["endpoints[0].hints.forZones: Too many: 9: must have at most 8 items"]),
        ({"hints": {"forNodes": [{"name": ""}]}},
         ['endpoints[0].hints.forNodes[0].name: Invalid value: "": a lowercase RFC 1123 subdomain '
          "must consist of lower case alphanumeric characters, '-' or '.', and must start and end "
          "with an alphanumeric character (e.g. 'example.com', regex used for validation is "
          r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"]),
    ],
)  # fmt: skip
def test_where_an_endpoint_is_wanted_is_bounded(
    endpoint: dict[str, Any], problems: list[str]
) -> None:
    endpoints = [{"addresses": ["10.0.0.1"], **endpoint}]

    found = errors("discovery.k8s.io/v1", "EndpointSlice", addressType="IPv4", endpoints=endpoints)

    assert found == problems


def test_a_count_of_collisions_is_not_taken_away() -> None:
    spec = {"selector": SELECTOR, "template": TEMPLATE}
    old = created("apps/v1", "DaemonSet", spec=spec)
    old["status"]["collisionCount"] = 0

    found = status_errors(old, {"collisionCount": None})

    assert found == ["status.collisionCount: Invalid value: 0: cannot be decremented"]


def test_the_handler_of_a_runtime_class_is_the_last_fault() -> None:
    tolerations = [{"key": "k", "operator": "Odd"}]

    found = errors("node.k8s.io/v1", "RuntimeClass", scheduling={"tolerations": tolerations})

    assert found == [
        'scheduling.tolerations[0].operator: Unsupported value: "Odd": supported values: "Equal", '
        '"Exists"',
        "handler: Required value",
    ]


def test_a_runtime_class_names_no_toleration_twice() -> None:
    one = {"key": "k", "operator": "Exists", "effect": "NoExecute"}
    tolerations = [one, {**one, "effect": "NoSchedule"}, {**one, "tolerationSeconds": 5}]

    found = errors(
        "node.k8s.io/v1", "RuntimeClass", handler="h", scheduling={"tolerations": tolerations}
    )

    assert found == [
        'scheduling.tolerations[2]: Duplicate value: {"Key":"k","Operator":"Exists","Value":"",'
        '"Effect":"NoExecute","TolerationSeconds":5}'
    ]


def test_an_update_of_a_runtime_class_is_validated() -> None:
    old = created("node.k8s.io/v1", "RuntimeClass", handler="h")

    change = {"handler": "I", "scheduling": {"nodeSelector": {"a": "b c"}}}
    _, found = updated(old, change)

    assert [fault.split(": ")[0] for fault in found] == ["scheduling.nodeSelector", "handler"]
    assert found[1] == "handler: Invalid value: null: field is immutable"


def test_an_update_of_an_attachment_says_what_is_wrong_before_that_nothing_may_change() -> None:
    spec = {"attacher": "a", "nodeName": "n", "source": {"persistentVolumeName": "v"}}
    old = created("storage.k8s.io/v1", "VolumeAttachment", spec=spec)

    change = {"attacher": "B!", "nodeName": "M!", "source": {"persistentVolumeName": ""}}
    _, found = updated(old, {"spec": change})

    assert [fault.split(": ")[0] for fault in found] == [
        "spec.source.persistentVolumeName",
        "spec.nodeName",
        "spec",
    ]
