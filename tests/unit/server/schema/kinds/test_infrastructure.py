"""Storage drivers, attachments, address ranges, aggregated APIs, and volumes."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import pytest

from tests.unit.server.schema.creating import created, errors, updated

STORAGE, NETWORK = "storage.k8s.io/v1", "networking.k8s.io/v1"
CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
VOLUME = {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}}


def claim_of(name: str) -> dict[str, str]:
    return {"kind": "PersistentVolumeClaim", "name": name}


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


def test_a_storage_capacity_is_not_negative() -> None:
    assert errors(STORAGE, "CSIStorageCapacity", storageClassName="c", capacity="-1") == [
        'capacity: Invalid value: "-1": must be greater than or equal to 0'
    ]


@pytest.mark.parametrize(
    ("name", "spec", "problems"),
    [
        ("10.0.0.1", {}, ["spec.parentRef: Required value"]),
        ("10.0.0.1", {"parentRef": {"resource": "services", "name": "a"}}, []),
        (
            "x",
            {"parentRef": {"resource": "services", "name": ""}},
            [
                'metadata.name: Invalid value: "x": ParseAddr("x"): unable to parse IP',
                "spec.parentRef.name: Required value",
            ],
        ),
        (
            "2001:DB8::1",
            {"parentRef": {"resource": "services", "name": "a"}},
            ['metadata.name: Invalid value: "2001:DB8::1": must be a canonical format IP address'],
        ),
    ],
)
def test_addresses(name: str, spec: dict[str, Any], problems: list[str]) -> None:
    assert errors(NETWORK, "IPAddress", metadata={"name": name}, spec=spec) == problems


@pytest.mark.parametrize(
    ("ranges", "problem"),
    [
        ([], "spec.cidrs: Required value: at least one CIDR required"),
        (["x"], 'spec.cidrs[0]: Invalid value: "x": must be a valid CIDR value, (e.g. 10.9.8.0/24 '
                "or 2001:db8::/64)"),
        (["10.0.0.0/8", "11.0.0.0/8"],
         'spec.cidrs: Invalid value: {"CIDRs":["10.0.0.0/8","11.0.0.0/8"]}: may specify no more '
         "than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/96"),
    ],
)  # fmt: skip
def test_ranges(ranges: list[str], problem: str) -> None:
    assert errors(NETWORK, "ServiceCIDR", spec={"cidrs": ranges}) == [problem]


def test_a_range_may_only_gain_the_other_family() -> None:
    old = created(NETWORK, "ServiceCIDR", spec={"cidrs": ["10.0.0.0/8"]})

    assert updated(old, {"spec": {"cidrs": ["10.0.0.0/8", "2001:db8::/96"]}})[1] == []
    assert updated(old, {"spec": {"cidrs": ["11.0.0.0/8"]}})[1] == [
        'spec.cidrs[0]: Invalid value: "11.0.0.0/8": field is immutable'
    ]


def test_an_aggregated_api_is_called_by_its_version_and_group() -> None:
    spec = {"group": "a.example", "version": "v1", "groupPriorityMinimum": 1, "versionPriority": 0}

    assert errors("apiregistration.k8s.io/v1", "APIService", spec=spec) == [
        'metadata.name: Invalid value: "a": must be `spec.version+"."+spec.group`: "v1.a.example"',
        "spec.versionPriority: Invalid value: 0: must be positive and less than 1000",
    ]


def test_of_two_sources_of_a_volume_the_first_one_kubernetes_looks_for_is_judged() -> None:
    spec = {**VOLUME, "nfs": {"server": "s", "path": "x"}, "hostPath": {"path": ""}}

    assert errors("v1", "PersistentVolume", spec=spec) == [
        "spec.hostPath.path: Required value",
        "spec.nfs: Forbidden: may not specify more than 1 volume type",
    ]


def test_a_local_volume_stays_below_its_root_and_says_where_it_is() -> None:
    assert errors("v1", "PersistentVolume", spec={**VOLUME, "local": {"path": "../x"}}) == [
        "spec.local.path: Invalid value: \"../x\": must not contain '..'",
        "spec.nodeAffinity: Required value: Local volume requires node affinity",
    ]


def test_the_two_names_of_a_claims_source_agree() -> None:
    spec = {**CLAIM, "dataSource": claim_of("a"), "dataSourceRef": claim_of("b")}

    assert errors("v1", "PersistentVolumeClaim", spec=spec) == [
        "spec: Invalid value: {}: must match dataSourceRef"
    ]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (b"x", "invalid character 'x' looking for beginning of value"),
        (b"[]", "json: cannot unmarshal array into Go value of type map[string]interface {}"),
        (b"[" * 20_000, "invalid character '[' exceeded max depth"),
    ],
)
def test_a_registrys_password_is_a_json_object(text: bytes, why: str) -> None:
    data = {".dockerconfigjson": b64encode(text).decode()}

    found = errors("v1", "Secret", type="kubernetes.io/dockerconfigjson", data=data)

    assert found == [f'data[.dockerconfigjson]: Invalid value: "<secret contents redacted>": {why}']


def test_limits_are_of_known_types_and_resources() -> None:
    limits = [{"type": "X"}, {"type": "Pod", "max": {"foo": "1"}}]

    assert errors("v1", "LimitRange", spec={"limits": limits}) == [
        'spec.limits[0].type: Invalid value: "X": must be a standard limit type or fully qualified',
        'spec.limits[1].max[foo]: Invalid value: "foo": must be a standard resource type or fully '
        "qualified",
        'spec.limits[1].max[foo]: Invalid value: "foo": must be a standard resource for containers',
    ]


def test_a_node_has_no_negative_capacity() -> None:
    assert errors("v1", "Node", status={"capacity": {"cpu": "-1"}}) == [
        f'status.{field}.cpu: Invalid value: "-1": must be greater than or equal to 0'
        for field in ("capacity", "allocatable")
    ]


@pytest.mark.parametrize(
    ("path", "problems"),
    [
        ("/", []),
        ("/a/b/", []),
        ("//", ["segment[0] may not be empty"]),
        ("x/y", ["must start with a '/'", "segment[0] may not be empty"]),
        ("/a//b", ["segment[1] may not be empty"]),
    ],
)
def test_the_path_of_a_webhook(path: str, problems: list[str]) -> None:
    hook = {
        "name": "a.b.c",
        "clientConfig": {"service": {"namespace": "n", "name": "s", "path": path}},
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    at = f'webhooks[0].clientConfig.service.path: Invalid value: "{path}": '

    found = errors(
        "admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", webhooks=[hook]
    )

    assert found == [at + problem for problem in problems]


def test_a_webhook_names_each_version_once() -> None:
    hook = {
        "name": "a.b.c",
        "clientConfig": {"url": "https://a.example"},
        "sideEffects": "None",
        "admissionReviewVersions": ["v1", "v1"],
    }

    assert errors(
        "admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", webhooks=[hook]
    ) == ['webhooks[0].admissionReviewVersions[1]: Invalid value: "v1": duplicate version']


def test_an_autoscaler_tolerates_nothing_negative() -> None:
    spec = {
        "scaleTargetRef": {"kind": "Deployment", "name": "a"},
        "maxReplicas": 1,
        "behavior": {"scaleDown": {"tolerance": "-1"}},
    }

    assert errors("autoscaling/v2", "HorizontalPodAutoscaler", spec=spec) == [
        'spec.behavior.scaleDown.tolerance: Invalid value: "-1": must be greater than or equal to 0'
    ]


@pytest.mark.parametrize(
    ("rule", "problems"),
    [
        ({"verbs": ["look"], "clusterScope": True},
         ['verbs: Unsupported value: ["look"]: supported values: "create", "delete", '
          '"deletecollection", "get", "list", "patch", "proxy", "update", "watch"']),
        ({"resources": ["*", "pods"], "clusterScope": True},
         ["resources: Invalid value: [\"*\",\"pods\"]: if '*' is present, must not specify other "
          "resources"]),
        ({"namespaces": ["*", "a"]},
         ["namespaces: Invalid value: [\"*\",\"a\"]: if '*' is present, must not specify other "
          "namespaces"]),
    ],
)  # fmt: skip
def test_a_rule_of_a_flow_schema_is_judged(rule: dict[str, Any], problems: list[str]) -> None:
    whole = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], **rule}
    subject = {"kind": "User", "user": {"name": "u"}, "group": {"name": "g"}}
    rules = [{"subjects": [subject], "resourceRules": [whole]}]
    spec = {"priorityLevelConfiguration": {"name": "p"}, "rules": rules}

    found = errors("flowcontrol.apiserver.k8s.io/v1", "FlowSchema", spec=spec)

    assert [text.removeprefix("spec.rules[0].resourceRules[0].") for text in found] == [
        "spec.rules[0].subjects[0].group: Forbidden: group is forbidden when subject kind is not "
        "'Group'",
        *problems,
    ]
