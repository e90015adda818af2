"""What the scheduler reads of a pod's event."""

from __future__ import annotations

from typing import Any

import pytest

from proreus.api.object import KubeObject
from proreus.cluster.scheduler.pod_outline import DEFAULT_SCHEDULER, PodOutline


def outline(*, phase: str = "", deleted: str = "", **spec: Any) -> PodOutline:
    metadata = {"name": "p", "uid": "1", **({"deletionTimestamp": deleted} if deleted else {})}
    status = {"phase": phase} if phase else {}
    return PodOutline(KubeObject.from_dict({"metadata": metadata, "spec": spec, "status": status}))


def test_a_pod_without_spec_and_status_waits_for_the_default_scheduler() -> None:
    bare = PodOutline(KubeObject.from_dict({"metadata": {"name": "p"}}))

    assert bare.wants_scheduling(DEFAULT_SCHEDULER)
    assert not bare.wants_scheduling("another")


@pytest.mark.parametrize(
    "held_back",
    [
        outline(phase="Succeeded"),
        outline(deleted="2026-01-01T00:00:00Z"),
        outline(nodeName="n1"),
        outline(schedulerName="another"),
        outline(schedulingGates=[{"name": "wait"}]),
    ],
)
def test_a_pod_that_is_placed_going_gated_or_anothers_is_left_alone(held_back: PodOutline) -> None:
    assert not held_back.wants_scheduling(DEFAULT_SCHEDULER)


def test_a_status_changes_nothing_for_a_scheduler_but_its_end_does() -> None:
    pending, running, failed = outline(phase="Pending"), outline(phase="Running"), "Failed"

    assert pending == running
    assert running != outline(phase=failed)
    assert running != outline(phase="Running", nodeName="n1")


def test_a_binding_together_with_another_change_is_not_only_a_binding() -> None:
    pending = outline(priority=1, schedulerName="s")

    assert outline(priority=1, nodeName="n1", schedulerName="s").is_only_bound(pending, "n1")
    assert outline(nodeName="n1", priority=1, schedulerName="s").is_only_bound(pending, "n1")
    assert outline(priority=1, schedulerName="s", nodeName="n1").is_only_bound(pending, "n1")
    assert not outline(priority=2, nodeName="n1", schedulerName="s").is_only_bound(pending, "n1")


def resized(generation: int, cpu: str, *reasons: str, deleted: str = "") -> PodOutline:
    metadata = {"name": "p", "generation": generation, "deletionTimestamp": deleted or None}
    status = {
        "phase": "Running",
        "containerStatuses": [{"name": "c", "allocatedResources": {"cpu": cpu}}],
        "conditions": [{"type": "PodResizePending", "reason": reason} for reason in reasons],
    }
    return PodOutline(KubeObject.from_dict({"metadata": metadata, "status": status}))


def test_what_a_pod_that_changed_was_given_matters_to_a_scheduler() -> None:
    assert resized(2, "1") == resized(3, "1")
    assert resized(2, "1") != resized(2, "2")
    assert resized(2, "1") != resized(2, "1", "Infeasible")
    assert resized(1, "1") == resized(1, "2")  # it never changed, so this is its start
    gone = "2026-01-01T00:00:00Z"
    assert resized(2, "1", deleted=gone) == resized(2, "2", deleted=gone)
