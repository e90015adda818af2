"""A Job's status: each pod counted once, whatever happens to it and to the controller."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proreus.api.object import KubeObject
from proreus.cluster.controllers.job.controller import pod_of
from proreus.cluster.controllers.job.decisions import Start
from proreus.cluster.controllers.job.outcome import JobOutcome, has_too_many_successes
from proreus.cluster.controllers.job.pod_counts import FINALIZER, count_pods
from proreus.cluster.controllers.job.state import JobState, observe
from proreus.cluster.controllers.job.status import StatusUpdate, status_update
from tests.unit.cluster.controllers.jobs import NOW, indexed, job, pod

WON = JobOutcome(True, "CompletionsReached", "Reached expected number of succeeded pods")
LOST = JobOutcome(False, "DeadlineExceeded", "Job was active longer than specified deadline")


def accounted(
    wish: KubeObject, *pods: KubeObject, outcome: JobOutcome | None = None
) -> StatusUpdate:
    counted = count_pods(wish, pods)
    state = JobState(wish, pods, counted, outcome, NOW)
    return status_update(state, active=len(counted.active), ready=0)


def kinds(found: StatusUpdate) -> list[str]:
    return [one["type"] for one in found.status.get("conditions", ())]


def test_an_end_is_first_noted_then_let_go_then_counted() -> None:
    noted = accounted(job(completions=2), pod("a", "Succeeded"), pod("b", "Failed"))
    assert noted.status["uncountedTerminatedPods"] == {"succeeded": ["a"], "failed": ["b"]}
    assert "succeeded" not in noted.status
    assert [one.name for one in noted.release] == ["a", "b"]

    free = [pod("a", "Succeeded", held=False), pod("b", "Failed", held=False)]
    counted = accounted(job(noted.status, completions=2), *free)
    assert counted.status["uncountedTerminatedPods"] == {}
    assert (counted.status["succeeded"], counted.status["failed"]) == (1, 1)
    assert counted.release == ()


def test_pods_that_a_job_deletes_count_as_terminating() -> None:
    state = observe(job(completions=3), [pod("a"), pod("b"), pod("c", going=True)], NOW)

    found = status_update(state, active=1, ready=0, stopped=1)

    assert (found.status["active"], found.status["terminating"]) == (1, 2)


@pytest.mark.parametrize(
    ("completions", "succeeded", "expected"), [(2, 3, True), (2, 2, False), (None, 3, False)]
)
def test_more_successes_than_were_asked_for_are_too_many(
    completions: int | None, succeeded: int, expected: bool
) -> None:
    wish = job({"succeeded": succeeded}, completions=completions)

    assert has_too_many_successes(wish) == expected


def test_a_pod_that_is_gone_after_it_was_noted_is_counted() -> None:
    known = {"uncountedTerminatedPods": {"succeeded": ["a"], "failed": ["b"]}, "succeeded": 4}
    status = accounted(job(known, completions=9)).status
    assert (status["succeeded"], status["failed"]) == (5, 1)


def test_a_pod_that_is_deleted_while_it_runs_has_failed_and_may_go() -> None:
    found = accounted(job(completions=1), pod("a", going=True))
    assert found.status["uncountedTerminatedPods"] == {"failed": ["a"]}
    assert [one.name for one in found.release] == ["a"]


def test_if_only_failed_pods_are_replaced_a_pod_that_goes_is_held_until_it_ended() -> None:
    found = accounted(job(completions=1, podReplacementPolicy="Failed"), pod("a", going=True))
    assert found.release == ()
    assert found.status["terminating"] == 1


def test_an_index_is_done_as_soon_as_it_is_noted() -> None:
    found = accounted(indexed(3), pod("a", "Succeeded", index=2))
    assert found.status["completedIndexes"] == "2"
    assert found.status["succeeded"] == 1
    assert found.status["uncountedTerminatedPods"] == {}
    assert [one.name for one in found.release] == ["a"]


def test_the_last_failure_of_an_index_is_held_until_another_pod_knows_of_it() -> None:
    wish, failed = indexed(1, backoffLimitPerIndex=2), pod("a", "Failed", index=0, failures=0)
    assert accounted(wish, failed).release == ()
    assert accounted(wish, failed, pod("b", index=0, failures=1)).release == (failed,)


def test_the_end_is_announced_at_once_and_true_when_no_pod_is_left() -> None:
    wish = job(completions=1)
    early = accounted(wish, pod("a", "Succeeded"), outcome=WON)
    assert kinds(early) == ["SuccessCriteriaMet"]
    late = accounted(job(early.status), pod("a", "Succeeded", held=False), outcome=WON)
    assert kinds(late) == ["SuccessCriteriaMet", "Complete"]
    assert late.status["completionTime"]
    going = pod("a", going=True, held=False)
    assert kinds(accounted(wish, going, outcome=LOST)) == ["FailureTarget"]


def test_when_a_job_fails_so_have_all_pods_that_had_not_succeeded() -> None:
    found = accounted(job(completions=3), pod("a", "Succeeded"), pod("b"), outcome=LOST)
    assert found.status["uncountedTerminatedPods"] == {"succeeded": ["a"], "failed": ["b"]}


def test_a_resumed_job_begins_its_time_anew() -> None:
    suspended = accounted(job(suspend=True, completions=1)).status
    assert suspended["conditions"][0]["type"] == "Suspended"
    assert "startTime" not in suspended
    resumed = accounted(job({**suspended, "startTime": "2020-01-01T00:00:00Z"})).status
    assert resumed["startTime"] == "2026-01-01T00:00:00Z"
    assert resumed["conditions"][0]["status"] == "False"


def test_a_pod_of_an_index_learns_which_one_it_is() -> None:
    template: dict[str, Any] = {"metadata": {}, "spec": {"containers": [{"name": "main"}]}}
    made = pod_of(indexed(3, template=template, backoffLimitPerIndex=1), Start(2, failures=1))

    assert made["metadata"]["finalizers"] == [FINALIZER]
    assert made["metadata"]["generateName"] == "sum-2-"
    assert made["metadata"]["annotations"] == {
        "batch.kubernetes.io/job-completion-index": "2",
        "batch.kubernetes.io/job-index-failure-count": "1",
    }
    assert made["spec"]["hostname"] == "sum-2"
    (variable,) = made["spec"]["containers"][0]["env"]
    assert variable["name"] == "JOB_COMPLETION_INDEX"


@given(
    st.lists(st.sampled_from(["Succeeded", "Failed", "gone"]), max_size=8),
    st.lists(st.booleans(), min_size=40, max_size=40),
)
def test_every_pod_is_counted_once_however_often_work_is_interrupted(
    ends: list[str], chances: list[bool]
) -> None:
    """The status may be lost before it is written, and any finalizer may stay for a while."""
    dice = iter(chances)
    wish = job(completions=100, backoffLimit=100, parallelism=0)
    pods = {
        str(number): pod(str(number), "Running" if end == "gone" else end, going=end == "gone")
        for number, end in enumerate(ends)
    }
    for _ in range(4):
        wish, pods = _interrupted(wish, pods, dice)
    for _ in range(3):
        wish, pods = _interrupted(wish, pods, iter(()))
    status = wish.status
    assert (status.get("succeeded") or 0) == ends.count("Succeeded")
    assert (status.get("failed") or 0) == len(ends) - ends.count("Succeeded")
    assert status["uncountedTerminatedPods"] == {}


def _interrupted(
    wish: KubeObject, pods: dict[str, KubeObject], dice: Any
) -> tuple[KubeObject, dict[str, KubeObject]]:
    """One look; a True of the dice is a failure of the next step."""
    found = status_update(observe(wish, list(pods.values()), NOW), active=0, ready=0)
    if next(dice, False):
        return wish, pods
    written = job(found.status, **{k: wish.spec[k] for k in ("completions", "backoffLimit")})
    left = dict(pods)
    for one in found.release:
        if next(dice, False):
            continue
        content = one.to_dict()
        content["metadata"]["finalizers"] = []
        if one.metadata.deletionTimestamp:
            del left[one.uid]
        else:
            left[one.uid] = KubeObject.from_dict(content)
    return written, left
