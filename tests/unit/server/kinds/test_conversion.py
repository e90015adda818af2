"""Conversion between the versions of autoscalers and the groups of events."""

from __future__ import annotations

import json
from typing import Any

import pytest

from proreus.api.group_version import GroupVersionKind
from proreus.server.kinds import builtin_resources
from proreus.server.resource.conversion import conversion_among

convert = conversion_among(builtin_resources())
V1 = GroupVersionKind("autoscaling", "v1", "HorizontalPodAutoscaler")
V2 = GroupVersionKind("autoscaling", "v2", "HorizontalPodAutoscaler")
CORE = GroupVersionKind("", "v1", "Event")
NEWER = GroupVersionKind("events.k8s.io", "v1", "Event")
TARGET = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
METRICS = "autoscaling.alpha.kubernetes.io/metrics"


def autoscaler(version: GroupVersionKind, **fields: Any) -> dict[str, Any]:
    spec = {"scaleTargetRef": TARGET, "maxReplicas": 5, **fields.pop("spec", {})}
    return {
        "apiVersion": version.api_version,
        "kind": version.kind,
        "metadata": {"name": "a"},
        "spec": spec,
        "status": {"desiredReplicas": 0},
        **fields,
    }


def cpu(share: int) -> dict[str, Any]:
    target = {"type": "Utilization", "averageUtilization": share}
    return {"type": "Resource", "resource": {"name": "cpu", "target": target}}


def test_version_1_shows_the_cpu_as_a_field() -> None:
    found = convert(autoscaler(V2, spec={"metrics": [cpu(70)]}), V1)

    assert found["apiVersion"] == "autoscaling/v1"
    assert found["spec"]["targetCPUUtilizationPercentage"] == 70
    assert found["status"] == {"currentReplicas": 0, "desiredReplicas": 0}
    assert found["metadata"] == {"name": "a"}


OTHERS: list[dict[str, Any]] = [
    {"type": "Resource", "resource": {"name": "memory", "target": {
        "type": "AverageValue", "averageValue": "1Gi"}}},
    {"type": "Pods", "pods": {"metric": {"name": "rps"}, "target": {
        "type": "AverageValue", "averageValue": "1k"}}},
    {"type": "External", "external": {"metric": {"name": "q", "selector": {"matchLabels": {
        "a": "b"}}}, "target": {"type": "Value", "value": "30"}}},
    {"type": "Object", "object": {"describedObject": {"kind": "Service", "name": "s",
        "apiVersion": "v1"}, "metric": {"name": "m"}, "target": {"type": "Value",
        "value": "1500m"}}},
    {"type": "ContainerResource", "containerResource": {"name": "cpu", "container": "c",
        "target": {"type": "Utilization", "averageUtilization": 60}}},
]  # fmt: skip
ANNOTATION = (
    '[{"type":"Resource","resource":{"name":"memory","targetAverageValue":"1Gi"}},'
    '{"type":"Pods","pods":{"metricName":"rps","targetAverageValue":"1k"}},'
    '{"type":"External","external":{"metricName":"q","metricSelector":{"matchLabels":{"a":"b"}},'
    '"targetValue":"30"}},'
    '{"type":"Object","object":{"target":{"kind":"Service","name":"s","apiVersion":"v1"},'
    '"metricName":"m","targetValue":"1500m"}},'
    '{"type":"ContainerResource","containerResource":{"name":"cpu",'
    '"targetAverageUtilization":60,"container":"c"}}]'
)


def test_version_1_carries_the_rest_in_annotations() -> None:
    found = convert(autoscaler(V2, spec={"metrics": OTHERS}), V1)

    assert found["metadata"]["annotations"] == {METRICS: ANNOTATION}
    assert "targetCPUUtilizationPercentage" not in found["spec"]


@pytest.mark.parametrize("metrics", [[cpu(70)], OTHERS, [*OTHERS, cpu(80)]])
def test_there_and_back_is_the_same(metrics: list[Any]) -> None:
    behavior = {"scaleUp": {"selectPolicy": "Max"}}
    given = autoscaler(V2, spec={"metrics": metrics, "behavior": behavior})
    given["status"]["currentMetrics"] = None

    assert convert(convert(given, V1), V2) == given


def test_nonsense_in_an_annotation_is_ignored() -> None:
    given = autoscaler(V1, metadata={"name": "a", "annotations": {METRICS: "nonsense"}})

    found = convert(given, V2)

    assert "metrics" not in found["spec"]
    assert found["metadata"] == {"name": "a"}
    assert json.dumps(given).count("nonsense") == 1


def test_an_event_has_other_names_in_the_newer_group() -> None:
    given = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "b"},
        "involvedObject": {"kind": "Pod"},
        "message": "m",
        "count": 2,
        "source": {"component": "kubelet"},
        "firstTimestamp": None,
        "lastTimestamp": None,
        "eventTime": None,
        "reportingComponent": "",
        "reportingInstance": "",
    }

    found = convert(given, NEWER)

    assert found == {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": "b"},
        "regarding": {"kind": "Pod"},
        "note": "m",
        "deprecatedCount": 2,
        "deprecatedSource": {"component": "kubelet"},
        "deprecatedFirstTimestamp": None,
        "deprecatedLastTimestamp": None,
        "eventTime": None,
    }
    assert convert(found, CORE) == given


def test_the_same_version_is_returned_as_it_is() -> None:
    given = autoscaler(V1)

    assert convert(given, V1) is given
