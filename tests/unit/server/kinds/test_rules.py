"""Rules that kinds have: what is invalid, what may not change, and the status of a new object."""

from __future__ import annotations

from typing import Any

import pytest

from proreus.api.json_types import JsonObject
from tests.unit.server.kinds.creating import created, errors, resource_of, updated

RBAC = "rbac.authorization.k8s.io/v1"
CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
VOLUME = {
    "capacity": {"storage": "1Gi"},
    "accessModes": ["ReadWriteOnce"],
    "hostPath": {"path": "/x"},
}


def test_storage_starts_pending() -> None:
    volume = created("v1", "PersistentVolume", spec=VOLUME)
    claim = created("v1", "PersistentVolumeClaim", spec=CLAIM)

    assert claim["spec"]["volumeMode"] == "Filesystem"
    assert volume["status"]["phase"] == "Pending"


@pytest.mark.parametrize(
    ("version", "kind", "fields", "problems"),
    [
        ("v1", "ConfigMap", {"data": {"k": "x"}, "binaryData": {"k": "eA=="}},
         ['data[k]: Invalid value: "k": duplicate of key present in binaryData']),
        ("v1", "Secret", {"type": "kubernetes.io/tls"},
         ["data[tls.crt]: Required value", "data[tls.key]: Required value"]),
        ("v1", "Secret", {"type": "kubernetes.io/basic-auth"},
         ["data[username]: Required value", "data[password]: Required value"]),
        ("v1", "Secret", {"type": "kubernetes.io/dockerconfigjson",
                          "stringData": {".dockerconfigjson": "x"}},
         ['data[.dockerconfigjson]: Invalid value: "<secret contents redacted>": invalid '
          "character 'x' looking for beginning of value"]),
        ("v1", "PersistentVolume", {"spec": {**VOLUME, "capacity": {"storage": "0"}}},
         ['spec.capacity[storage]: Invalid value: "0": must be greater than zero']),
        ("v1", "PersistentVolume", {"spec": {**VOLUME, "nfs": {"server": "s", "path": "/"}}},
         ["spec.nfs: Forbidden: may not specify more than 1 volume type"]),
        ("v1", "ResourceQuota", {"spec": {"hard": {"pods": "1.5"}}},
         ['spec.hard[pods]: Invalid value: "1500m": must be an integer']),
        (RBAC, "Role", {"rules": [{"verbs": ["get"], "nonResourceURLs": ["/x"]}]},
         ['rules[0].nonResourceURLs: Invalid value: ["/x"]: namespaced rules cannot apply to '
          "non-resource URLs"]),
        (RBAC, "ClusterRole", {"aggregationRule": {}},
         ["aggregationRule.clusterRoleSelectors: Required value: at least one clusterRoleSelector "
          "required if aggregationRule is non-nil"]),
        (RBAC, "ClusterRole", {"aggregationRule": {"clusterRoleSelectors": [
            {"matchExpressions": [{"key": "k", "operator": "In"}]}, {}]}},
         ["aggregationRule.clusterRoleSelectors[0].matchExpressions[0].values: Required value: "
          "must be specified when `operator` is 'In' or 'NotIn'",
          "aggregationRule.clusterRoleSelectors[0]: Invalid value: null: invalid label "
          "selector."]),
        ("autoscaling/v2", "HorizontalPodAutoscaler",
         {"spec": {"scaleTargetRef": {"kind": "D", "name": "d"}, "maxReplicas": 0}},
         ["spec.maxReplicas: Invalid value: 0: must be greater than or equal to `minReplicas`",
          "spec.maxReplicas: Required value"]),
        ("policy/v1", "PodDisruptionBudget", {"spec": {"minAvailable": "200%"}},
         ['spec.minAvailable: Invalid value: "200%": must not be greater than 100%']),
        ("scheduling.k8s.io/v1", "PriorityClass", {"value": 2_000_000_000},
         ["value: Forbidden: maximum allowed value of a user defined priority is 1000000000"]),
        ("coordination.k8s.io/v1", "Lease", {"spec": {"leaseDurationSeconds": 0}},
         ["spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0"]),
        ("storage.k8s.io/v1", "StorageClass", {"provisioner": ""}, ["provisioner: Required value"]),
        ("storage.k8s.io/v1", "StorageClass", {"provisioner": "p", "reclaimPolicy": ""}, []),
        ("scheduling.k8s.io/v1", "PriorityClass", {"value": 1, "preemptionPolicy": ""},
         ["preemptionPolicy: Required value"]),
        ("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration",
         {"webhooks": [{"name": "h.example.com", "admissionReviewVersions": ["v1"],
                        "sideEffects": "", "clientConfig": {"url": "https://x"}}]},
         ['webhooks[0].sideEffects: Unsupported value: "": supported values: "None", '
          '"NoneOnDryRun"']),
        ("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration",
         {"webhooks": [{"name": "h.example.com", "admissionReviewVersions": ["v1"],
                        "sideEffects": "Some", "clientConfig": {"url": "http://x"}}]},
         ['webhooks[0].sideEffects: Unsupported value: "Some": supported values: "None", '
          '"NoneOnDryRun"',
          "webhooks[0].clientConfig.url: Invalid value: \"http\": 'https' is the only allowed URL "
          "scheme; desired format: https://host[/path]"]),
    ],
)  # fmt: skip
def test_an_object_is_validated(
    version: str, kind: str, fields: dict[str, Any], problems: list[str]
) -> None:
    assert errors(version, kind, **fields) == problems


@pytest.mark.parametrize(
    ("version", "kind", "fields", "change", "problems"),
    [
        ("v1", "ConfigMap", {"immutable": True}, {"data": {"a": "b"}},
         ["data: Forbidden: field is immutable when `immutable` is set"]),
        ("v1", "ConfigMap", {"immutable": True}, {"metadata": {"labels": {"a": "b"}}}, []),
        ("v1", "Secret", {}, {"type": "x"}, ['type: Invalid value: "x": field is immutable']),
        ("v1", "PersistentVolumeClaim", {"spec": CLAIM}, {"spec": {"storageClassName": "y"}}, []),
        ("v1", "PersistentVolumeClaim", {"spec": CLAIM}, {"spec": {"volumeName": "v"}}, []),
        ("v1", "PersistentVolumeClaim", {"spec": CLAIM}, {"spec": {"volumeMode": "Block"}},
         ["spec: Forbidden: spec is immutable after creation except resources.requests and "
          "volumeAttributesClassName for bound claims",
          'volumeMode: Invalid value: "Block": field is immutable']),
        ("v1", "PersistentVolumeClaim", {"spec": {**CLAIM, "storageClassName": "x"}},
         {"spec": {"storageClassName": "y"}},
         ["spec: Forbidden: spec is immutable after creation except resources.requests and "
          "volumeAttributesClassName for bound claims"]),
        ("v1", "PersistentVolume", {"spec": VOLUME}, {"spec": {"volumeMode": "Block"}},
         ['volumeMode: Invalid value: "Block": field is immutable']),
        (RBAC, "RoleBinding", {"roleRef": {"kind": "Role", "name": "r"}},
         {"roleRef": {"name": "s"}},
         ['roleRef: Invalid value: {"APIGroup":"rbac.authorization.k8s.io","Kind":"Role",'
          '"Name":"s"}: field is immutable']),
        ("storage.k8s.io/v1", "StorageClass", {"provisioner": "p"}, {"provisioner": "q"},
         ["provisioner: Invalid value: null: field is immutable"]),
        ("v1", "Node", {"spec": {"providerID": "x"}}, {"spec": {"providerID": "y"}},
         ["spec.providerID: Invalid value: null: field is immutable"]),
        ("scheduling.k8s.io/v1", "PriorityClass", {"value": 1}, {"value": 2},
         ["value: Forbidden: may not be changed in an update."]),
    ],
)  # fmt: skip
def test_what_may_not_change(
    version: str, kind: str, fields: dict[str, Any], change: JsonObject, problems: list[str]
) -> None:
    assert updated(created(version, kind, **fields), change)[1] == problems


@pytest.mark.parametrize(
    ("version", "kind", "status"),
    [
        ("apps/v1", "ReplicaSet", {"replicas": 0}),
        ("policy/v1", "PodDisruptionBudget",
         {"currentHealthy": 0, "desiredHealthy": 0, "disruptionsAllowed": 0, "expectedPods": 0}),
        ("flowcontrol.apiserver.k8s.io/v1", "FlowSchema", {}),
        ("autoscaling/v2", "HorizontalPodAutoscaler",
         {"currentMetrics": None, "desiredReplicas": 0}),
        ("v1", "ConfigMap", None),
    ],
)  # fmt: skip
def test_a_new_object_shows_its_empty_status(version: str, kind: str, status: Any) -> None:
    assert created(version, kind).get("status") == status


def test_kinds_without_rules_have_plain_ones() -> None:
    rules = resource_of("", "ServiceAccount").rules

    assert rules.validate({"metadata": {}}) == []
    assert rules.warnings({}) == []
