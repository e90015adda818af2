"""Of several faults: which one Go's decoder reports, and how it names the place."""

from __future__ import annotations

import json
from typing import Any

import pytest

from proreus.api.group_version import GroupVersionKind
from proreus.server.schema.check import DecodeError, check
from proreus.server.schema.definitions import Definitions


def fault(group: str, kind: str, value: dict[str, Any]) -> str:
    node = Definitions.load().node(GroupVersionKind(group, "v1", kind))
    assert node is not None
    with pytest.raises(DecodeError) as caught:
        check(node, value, json.dumps(value).encode())
    return str(caught.value)


CONTAINER = {"resources": {"limits": {"cpu": "much"}}}
QUANTITIES = (
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"metadata": 1, "spec": {"containers": [CONTAINER]}}, QUANTITIES),
        ({"metadata": {"name": 1, "deletionTimestamp": "x"}},
         'parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006"'),
        ({"metadata": {"name": 1, "deletionTimestamp": 5}},
         "json: cannot unmarshal number into Go struct field "
         "ObjectMeta.metadata.deletionTimestamp of type string"),
        ({"metadata": {"name": 1}, "spec": 5},
         "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.name of type "
         "string"),
    ],
)  # fmt: skip
def test_what_decodes_itself_is_reported_before_other_values(
    value: dict[str, Any], said: str
) -> None:
    assert fault("", "Pod", value) == said


@pytest.mark.parametrize(
    ("group", "kind", "value", "where"),
    [
        ("", "Pod", {"spec": {"volumes": [{"hostPath": 1}]}},
         "Volume.spec.volumes.VolumeSource.hostPath of type v1.HostPathVolumeSource"),
        ("", "Pod", {"spec": {"volumes": [{"name": 1}]}},
         "Volume.spec.volumes.name of type string"),
        ("", "Pod", {"spec": {"containers": [{"livenessProbe": {"exec": {"command": 1}}}]}},
         "ExecAction.spec.containers.livenessProbe.ProbeHandler.exec.command of type []string"),
        ("", "Pod", {"spec": {"containers": [{"livenessProbe": {"periodSeconds": "1"}}]}},
         "Probe.spec.containers.livenessProbe.periodSeconds of type int32"),
        ("", "PersistentVolume", {"spec": {"nfs": 1}},
         "PersistentVolumeSpec.spec.PersistentVolumeSource.nfs of type v1.NFSVolumeSource"),
        ("", "PersistentVolume", {"spec": {"storageClassName": 1}},
         "PersistentVolumeSpec.spec.storageClassName of type string"),
        ("networking.k8s.io", "Ingress", {"spec": {"rules": [{"http": 1}]}},
         "IngressRule.spec.rules.IngressRuleValue.http of type v1.HTTPIngressRuleValue"),
        ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration",
         {"webhooks": [{"rules": [{"apiGroups": 1}]}]},
         "RuleWithOperations.webhooks.rules.Rule.apiGroups of type []string"),
        ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy",
         {"spec": {"matchConstraints": {"resourceRules": [{"apiGroups": 1}]}}},
         "NamedRuleWithOperations.spec.matchConstraints.resourceRules.RuleWithOperations.Rule"
         ".apiGroups of type []string"),
    ],
)  # fmt: skip
def test_structs_that_are_part_of_others_are_named_in_the_path(
    group: str, kind: str, value: dict[str, Any], where: str
) -> None:
    said = fault(group, kind, value)

    assert said.partition(" into Go struct field ")[2] == where


def test_bytes_may_be_a_list_of_numbers() -> None:
    node = Definitions.load().node(GroupVersionKind("", "v1", "Secret"))
    assert node is not None

    made = check(node, {"data": {"a": [104, 105, None]}}).value

    assert made["data"] == {"a": "aGkA"}
    assert fault("", "Secret", {"data": {"a": ["x"]}}) == (
        "json: cannot unmarshal string into Go struct field Secret.data of type uint8"
    )


def test_names_of_devices_have_types_of_their_own() -> None:
    value = {"spec": {"devices": [{"attributes": 5}]}}

    assert fault("resource.k8s.io", "ResourceSlice", value).endswith(
        "Device.spec.devices.attributes of type map[v1.QualifiedName]v1.DeviceAttribute"
    )
