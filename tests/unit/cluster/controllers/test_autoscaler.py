"""How autoscalers decide: what metrics ask for, how fast they are followed, what is reported."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from proreus.api.object import KubeObject
from proreus.cluster.controllers.autoscaler.decisions import concurrently, decide, status_of
from proreus.cluster.controllers.autoscaler.replica_calculator import (
    MetricUnavailable,
    Proposal,
    propose,
    usage_by_pod,
)
from proreus.cluster.controllers.autoscaler.stabilization import Stabilizer

NOW = 1_767_225_600.0
HALF = {"type": "Utilization", "averageUtilization": 50}


def pod(name: str, *, ready: bool = True, phase: str = "Running", cpu: str = "1") -> KubeObject:
    requests = {"requests": {"cpu": cpu}} if cpu else {}
    condition = {"type": "Ready", "status": "True" if ready else "False"}
    return KubeObject.from_dict(
        {
            "metadata": {"name": name},
            "spec": {"containers": [{"name": "main", "resources": requests}]},
            "status": {"phase": phase, "conditions": [condition]},
        }
    )


def asked(target: dict[str, Any], used: dict[str, float], *more: KubeObject, size: int = 0) -> int:
    """So many replicas, if these pods are measured and ``more`` are not."""
    pods = [*(pod(name) for name in used), *more]
    usage = {name: Fraction(amount) for name, amount in used.items()}
    return propose("cpu", target, pods, usage, size or len(pods)).replicas


# What metrics ask for


@pytest.mark.parametrize(
    ("used", "expected"),
    [
        ({"a": 1.0, "b": 1.0}, 4),
        ({"a": 0.25, "b": 0.25}, 1),
        ({"a": 0.52, "b": 0.52}, 2),
        ({"a": 0.46, "b": 0.46}, 2),
        ({"a": 0.9, "b": 0.3}, 3),
    ],
    ids=["double", "half", "a little more", "a little less", "uneven"],
)
def test_the_size_follows_the_use(used: dict[str, float], expected: int) -> None:
    assert asked(HALF, used) == expected


def test_an_amount_per_pod_needs_no_requests() -> None:
    target = {"type": "AverageValue", "averageValue": "500m"}
    pods = [pod("a", cpu=""), pod("b", cpu="")]
    found = propose("cpu", target, pods, {"a": Fraction(1), "b": Fraction(1)}, 2)
    assert found.replicas == 4
    assert found.current["resource"]["current"] == {"averageValue": "1"}


def test_pods_that_are_not_measured_damp_both_ways() -> None:
    assert asked(HALF, {"a": 1.0, "b": 1.0}, pod("c")) == 4
    assert asked(HALF, {"a": 0.6, "b": 0.6}, pod("c"), pod("d")) == 4
    assert asked(HALF, {"a": 0.1, "b": 0.1}, pod("c")) == 3


def test_pods_that_are_not_ready_do_not_make_the_rest_grow() -> None:
    assert asked(HALF, {"a": 1.0}, pod("b", ready=False)) == 2
    assert asked(HALF, {"a": 0.1}, pod("b", phase="Pending")) == 1


def test_without_requests_or_measurements_nothing_is_known() -> None:
    with pytest.raises(
        MetricUnavailable, match="missing request for cpu in container main of Pod a"
    ):
        propose("cpu", HALF, [pod("a", cpu="")], {"a": Fraction(1)}, 1)
    with pytest.raises(MetricUnavailable, match="did not receive metrics"):
        propose("cpu", HALF, [pod("a")], {}, 1)


def test_usage_is_that_of_all_containers() -> None:
    measured = {
        "metadata": {"name": "a"},
        "containers": [{"usage": {"cpu": "250m"}}, {"usage": {"cpu": "1"}}],
    }
    half = {"metadata": {"name": "b"}, "containers": [{"usage": {"cpu": "1"}}, {"usage": {}}]}
    found = usage_by_pod([KubeObject.from_dict(measured), KubeObject.from_dict(half)], "cpu")
    assert found == {"a": Fraction(5, 4)}


# How fast


def test_growing_is_limited_per_period() -> None:
    stabilizer = Stabilizer()
    first = stabilizer.limit("k", {}, 2, 50, NOW)
    assert (first.replicas, first.is_limited) == (6, True)
    stabilizer.changed("k", 4, NOW)
    assert stabilizer.limit("k", {}, 6, 50, NOW + 5).replicas == 6
    assert stabilizer.limit("k", {}, 6, 50, NOW + 16).replicas == 12


def test_shrinking_waits_until_the_need_was_low_for_five_minutes() -> None:
    stabilizer = Stabilizer()
    assert stabilizer.limit("k", {}, 8, 8, NOW).replicas == 8
    early = stabilizer.limit("k", {}, 8, 2, NOW + 200)
    assert (early.replicas, early.is_stabilized) == (8, True)
    assert stabilizer.limit("k", {}, 8, 3, NOW + 301).replicas == 3


def test_after_a_start_nothing_shrinks_at_once() -> None:
    assert Stabilizer().limit("k", {}, 8, 1, NOW).replicas == 8


def test_behavior_says_how_fast() -> None:
    one_a_minute = {"type": "Pods", "value": 1, "periodSeconds": 60}
    half = {"type": "Percent", "value": 50, "periodSeconds": 60}
    down = {"stabilizationWindowSeconds": 0, "policies": [one_a_minute, half]}
    assert Stabilizer().limit("k", {"scaleDown": down}, 8, 1, NOW).replicas == 4
    slow = {**down, "selectPolicy": "Min"}
    assert Stabilizer().limit("k", {"scaleDown": slow}, 8, 1, NOW).replicas == 7
    never = {**down, "selectPolicy": "Disabled"}
    assert Stabilizer().limit("k", {"scaleDown": never}, 8, 1, NOW).replicas == 8
    calm = {"stabilizationWindowSeconds": 60}
    assert Stabilizer().limit("k", {"scaleUp": calm}, 2, 9, NOW).replicas == 2


# What is decided


def autoscaler(**spec: Any) -> KubeObject:
    metadata = {"name": "web", "namespace": "default", "generation": 2}
    content = {"minReplicas": 2, "maxReplicas": 6, **spec}
    return KubeObject.from_dict({"metadata": metadata, "spec": content})


@pytest.mark.parametrize(("current", "replicas"), [(0, None), (1, 2), (9, 6)])
def test_bounds_need_no_metrics(current: int, replicas: int | None) -> None:
    found = concurrently(autoscaler(), current)
    assert found is not None
    assert found.replicas == replicas
    assert concurrently(autoscaler(), 4) is None


def test_the_largest_proposal_wins_within_the_bounds() -> None:
    proposals = [Proposal(3, "cpu resource", {"a": 1}), Proposal(9, "memory resource", {"b": 1})]
    found = decide(autoscaler(), Stabilizer(), 4, proposals, NOW)
    assert (found.replicas, found.why) == (6, "memory resource above target")

    status = status_of(autoscaler(), 4, found, proposals, NOW)
    assert (status["currentReplicas"], status["desiredReplicas"]) == (4, 6)
    assert status["currentMetrics"] == [{"a": 1}, {"b": 1}]
    assert status["lastScaleTime"] == "2026-01-01T00:00:00Z"
    reasons = {one["type"]: one["reason"] for one in status["conditions"]}
    assert reasons == {
        "ScalingActive": "ValidMetricFound",
        "AbleToScale": "ReadyForNewScale",
        "ScalingLimited": "TooManyReplicas",
    }
