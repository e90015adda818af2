"""Taints follow conditions, and pods leave when their tolerations run out."""

from __future__ import annotations

from typing import Any

from proreus.api.object import KubeObject
from proreus.api.values.timestamp import format_time
from proreus.cluster.controllers.node_lifecycle import (
    observed_taints,
    readiness,
    taints_for,
    unknown_conditions,
    until_eviction_s,
)

NOW = 1_767_225_600.0
UNREACHABLE = "node.kubernetes.io/unreachable"


def node(ready: str, *taints: dict[str, Any], **spec: Any) -> KubeObject:
    conditions = [{"type": "Ready", "status": ready}] if ready else []
    return KubeObject.from_dict(
        {
            "metadata": {"name": "n1"},
            "spec": {"taints": list(taints), **spec},
            "status": {"conditions": conditions},
        }
    )


def pod(*tolerations: dict[str, Any]) -> KubeObject:
    return KubeObject.from_dict(
        {"metadata": {"name": "p"}, "spec": {"tolerations": [*tolerations]}}
    )


def keys(taints: list[dict[str, Any]]) -> set[tuple[str, str]]:
    return {(one["key"].removeprefix("node.kubernetes.io/"), one["effect"]) for one in taints}


def test_a_ready_node_keeps_only_the_taints_of_others() -> None:
    mine = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
    others = {"key": "gpu", "effect": "NoSchedule"}
    assert taints_for(node("True", mine, others), NOW) == [others]


def test_taints_say_what_is_wrong() -> None:
    assert keys(taints_for(node(""), NOW)) == {("not-ready", "NoSchedule")}
    assert keys(taints_for(node("Unknown"), NOW)) == {
        ("unreachable", "NoSchedule"),
        ("unreachable", "NoExecute"),
    }
    assert keys(taints_for(node("True", unschedulable=True), NOW)) == {
        ("unschedulable", "NoSchedule")
    }


def test_a_silent_node_is_unknown_in_everything() -> None:
    found = unknown_conditions(node("True"), NOW)
    assert {one["status"] for one in found} == {"Unknown"}
    assert readiness(KubeObject.from_dict({"status": {"conditions": found}})) == "Unknown"


def test_pods_leave_when_their_toleration_runs_out() -> None:
    taint = {"key": UNREACHABLE, "effect": "NoExecute", "timeAdded": format_time(NOW - 20)}
    brief = {"key": UNREACHABLE, "operator": "Exists", "tolerationSeconds": 30}
    always = {"operator": "Exists"}

    taints = observed_taints(node("Unknown", taint), (), NOW)
    drain = observed_taints(node("True", {"key": "drain", "effect": "NoExecute"}), (), NOW)

    assert until_eviction_s(pod(brief), taints, NOW) == 10
    assert until_eviction_s(pod(), taints, NOW) == 280
    assert until_eviction_s(pod(always), taints, NOW) is None
    assert until_eviction_s(pod(), drain, NOW) == 0


def test_a_taint_that_says_no_time_counts_from_when_it_was_first_observed() -> None:
    drained = node("True", {"key": "drain", "value": "x", "effect": "NoExecute"})
    brief = {"key": "drain", "operator": "Exists", "tolerationSeconds": 30}

    first = observed_taints(drained, (), NOW)
    later = observed_taints(drained, first, NOW + 20)

    assert until_eviction_s(pod(brief), later, NOW + 20) == 10
    assert observed_taints(node("True"), later, NOW + 20) == []
