"""What a Job does next, decided without a loop."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from proreus.api.object import KubeObject
from proreus.api.values.timestamp import format_time
from proreus.cluster.controllers.job.decisions import (
    backoff_s,
    format_indexes,
    parse_indexes,
    plan,
    status_of,
)

NOW = 1_767_225_600.0


def job(status: dict[str, Any] | None = None, **spec: Any) -> KubeObject:
    metadata = {"name": "sum", "namespace": "default", "uid": "me"}
    return KubeObject.from_dict({"metadata": metadata, "spec": spec, "status": status or {}})


def pod(name: str, phase: str, *, age_s: float = 0, index: int | None = None) -> KubeObject:
    annotations = {"batch.kubernetes.io/job-completion-index": str(index)}
    return KubeObject.from_dict(
        {
            "metadata": {
                "name": name,
                "uid": name,
                "creationTimestamp": format_time(NOW - age_s),
                "annotations": annotations if index is not None else {},
            },
            "status": {"phase": phase},
        }
    )


def test_only_as_many_pods_start_as_completions_are_missing() -> None:
    pods = [pod("a", "Succeeded"), pod("b", "Running")]
    assert len(plan(job(completions=3, parallelism=5), pods, NOW).start) == 1


def test_too_many_pods_are_stopped() -> None:
    pods = [pod("a", "Running"), pod("b", "Running"), pod("c", "Running")]
    assert len(plan(job(completions=9, parallelism=1), pods, NOW).stop) == 2


def test_a_queue_of_work_ends_with_the_last_pod_after_a_success() -> None:
    pods = [pod("a", "Succeeded"), pod("b", "Running")]
    going = plan(job(parallelism=2), pods, NOW)
    over = plan(job(parallelism=2), [pods[0], pod("b", "Succeeded")], NOW)

    assert (going.start, going.verdict) == ((), None)
    assert over.verdict is not None
    assert over.verdict.is_success


def test_after_a_failure_the_next_pod_waits_and_after_more_it_waits_longer() -> None:
    assert backoff_s([pod("a", "Failed", age_s=4)], NOW) == 6
    assert backoff_s([pod("a", "Failed", age_s=90), pod("b", "Failed", age_s=4)], NOW) == 16
    assert backoff_s([pod("a", "Failed", age_s=9), pod("b", "Succeeded", age_s=4)], NOW) == 0
    assert backoff_s([pod(str(n), "Failed") for n in range(40)], NOW) == 360


def test_past_its_deadline_a_job_fails_and_its_pods_are_stopped() -> None:
    late = job({"startTime": format_time(NOW - 61)}, completions=1, activeDeadlineSeconds=60)
    decided = plan(late, [pod("a", "Running")], NOW)

    assert decided.verdict is not None
    assert decided.verdict.reason == "DeadlineExceeded"
    assert [one.name for one in decided.stop] == ["a"]


def test_the_lowest_missing_indexes_start() -> None:
    pods = [pod("a", "Succeeded", index=0), pod("b", "Running", index=2)]
    spec: dict[str, Any] = {"completions": 5, "parallelism": 3, "completionMode": "Indexed"}
    assert plan(job(**spec), pods, NOW).start == (1, 3)


def test_what_was_counted_is_not_forgotten_when_its_pod_is_deleted() -> None:
    status = status_of(job({"succeeded": 2}, completions=3), [], None, NOW)
    assert status["succeeded"] == 2


@given(st.frozensets(st.integers(0, 50)))
def test_indexes_survive_being_written(indexes: frozenset[int]) -> None:
    assert parse_indexes(format_indexes(indexes)) == indexes
