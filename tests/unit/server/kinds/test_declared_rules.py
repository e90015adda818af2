"""Rules that the types of an API declare are checked after all others, and print no reason."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.server.kinds.creating import created, errors, updated

RBAC = "rbac.authorization.k8s.io/v1"
FLOW = "flowcontrol.apiserver.k8s.io/v1"
TARGET = {"kind": "Deployment", "name": "d"}


@pytest.mark.parametrize(
    ("version", "kind", "fields", "problems"),
    [
        (RBAC, "Role", {"rules": [{"apiGroups": [""], "resources": ["pods"]}, {"verbs": ["get"]}]},
         ["rules[1].apiGroups: Required value: resource rules must supply at least one api group",
          "rules[1].resources: Required value: resource rules must supply at least one resource",
          "rules[0].verbs: Required value"]),
        (RBAC, "RoleBinding", {"roleRef": {"kind": "Odd"}, "subjects": [{"kind": "User"}]},
         ['roleRef.kind: Unsupported value: "Odd": supported values: "Role", "ClusterRole"',
          "subjects[0].name: Required value", "roleRef.name: Required value"]),
        ("networking.k8s.io/v1", "NetworkPolicy",
         {"spec": {"ingress": [{"from": [{"ipBlock": {"cidr": ""}}]}], "policyTypes": ["Odd"]}},
         ['spec.policyTypes[0]: Unsupported value: "Odd": supported values: "Ingress", "Egress"',
          "spec.ingress[0].from[0].ipBlock.cidr: Required value"]),
        ("discovery.k8s.io/v1", "EndpointSlice",
         {"addressType": "", "endpoints": [{"addresses": []}],
          "ports": [{"name": "a"}, {"name": "a"}]},
         ['ports[1].name: Duplicate value: "a"', "addressType: Required value",
          "endpoints[0].addresses: Required value"]),
        ("discovery.k8s.io/v1", "EndpointSlice",
         {"addressType": "FQDN", "endpoints": [{"addresses": ["a.example.com"] * 101}]},
         ["endpoints[0].addresses: Too many: 101: must have at most 100 items"]),
        ("autoscaling/v2", "HorizontalPodAutoscaler",
         {"spec": {"scaleTargetRef": TARGET, "minReplicas": 0, "maxReplicas": -1}},
         ["spec.maxReplicas: Invalid value: -1: must be greater than or equal to `minReplicas`",
          "spec.metrics: Forbidden: must specify at least one Object or External metric to support "
          "scaling to zero replicas",
          "spec.minReplicas: Invalid value: 0: must be greater than or equal to 1",
          "spec.maxReplicas: Invalid value: -1: must be greater than or equal to 1"]),
        ("storage.k8s.io/v1", "StorageClass", {"provisioner": "", "reclaimPolicy": "Odd"},
         ['reclaimPolicy: Unsupported value: "Odd": supported values: "Delete", "Retain"',
          "provisioner: Required value"]),
        ("storage.k8s.io/v1", "VolumeAttachment",
         {"spec": {"attacher": "", "nodeName": "n", "source": {}}},
         ["spec.source: Required value: must specify exactly one of inlineVolumeSpec and "
          "persistentVolumeName", "spec.attacher: Required value"]),
        ("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicyBinding",
         {"spec": {"paramRef": {"name": "a"}}},
         ["spec.paramRef.parameterNotFoundAction: Required value",
          "spec.policyName: Required value", "spec.validationActions: Required value"]),
        (FLOW, "PriorityLevelConfiguration",
         {"spec": {"type": "Limited", "exempt": {},
                   "limited": {"limitResponse": {"type": "Reject"}}}},
         ["spec.exempt: Forbidden"]),
        (FLOW, "PriorityLevelConfiguration",
         {"spec": {"type": "Limited", "limited": {"limitResponse": {}}}},
         ["spec.limited.limitResponse.type: Required value"]),
        (FLOW, "PriorityLevelConfiguration",
         {"spec": {"type": "Limited",
                   "limited": {"borrowingLimitPercent": -1, "lendablePercent": 101,
                               "limitResponse": {"type": "Queue", "queuing": {"queues": 1000,
                                                                              "handSize": 10}}}}},
         ["spec.limited.limitResponse.queuing.handSize: Invalid value: 10: required entropy bits "
          "of deckSize 1000 and handSize 10 should not be greater than 60",
          "spec.limited.lendablePercent: Invalid value: 101: must be between 0 and 100, inclusive",
          "spec.limited.borrowingLimitPercent: Invalid value: -1: if specified, must be a "
          "non-negative integer"]),
        ("networking.k8s.io/v1", "IPAddress",
         {"metadata": {"name": "10.0.0.1"}, "spec": {"parentRef": {"namespace": "a/b"}}},
         ["spec.parentRef.namespace: Invalid value: \"a/b\": may not contain '/'",
          "spec.parentRef.resource: Required value", "spec.parentRef.name: Required value"]),
    ],
)  # fmt: skip
def test_what_a_type_declares_is_the_last_fault(
    version: str, kind: str, fields: dict[str, Any], problems: list[str]
) -> None:
    assert errors(version, kind, **fields) == problems


@pytest.mark.parametrize(
    ("version", "kind", "fields", "change", "paths"),
    [
        ("storage.k8s.io/v1", "StorageClass", {"provisioner": "a", "parameters": {"a": "b"}},
         {"provisioner": "b", "parameters": {"a": "c"}}, ["provisioner", "parameters"]),
        ("storage.k8s.io/v1", "VolumeAttachment",
         {"spec": {"attacher": "a", "nodeName": "n", "source": {"persistentVolumeName": "v"}}},
         {"spec": {"nodeName": "m"}}, ["spec"]),
        ("node.k8s.io/v1", "RuntimeClass", {"handler": "a"}, {"handler": "b"}, ["handler"]),
        ("discovery.k8s.io/v1", "EndpointSlice", {"addressType": "IPv4", "endpoints": []},
         {"addressType": "IPv6"}, ["addressType"]),
        ("v1", "Node", {"spec": {"providerID": "a"}}, {"spec": {"providerID": "b"}},
         ["spec.providerID"]),
        ("resource.k8s.io/v1", "ResourceClaim", {"spec": {}},
         {"spec": {"devices": {"requests": [{"name": "a", "exactly": {"deviceClassName": "c"}}]}}},
         ["spec"]),
    ],
)  # fmt: skip
def test_a_field_declared_immutable_is_refused_without_its_value(
    version: str, kind: str, fields: dict[str, Any], change: dict[str, Any], paths: list[str]
) -> None:
    old = created(version, kind, **fields)

    _, found = updated(old, change)

    assert found == [f"{path}: Invalid value: null: field is immutable" for path in paths]
