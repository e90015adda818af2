"""What a Job does next and how it ends, decided without a loop."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proreus.api.object import KubeObject
from proreus.api.values.timestamp import format_time
from proreus.cluster.controllers.job.decisions import Plan, Start, backoff_s, plan
from proreus.cluster.controllers.job.indexes import format_indexes, parse_indexes
from proreus.cluster.controllers.job.outcome import JobOutcome
from proreus.cluster.controllers.job.pod_counts import count_pods
from proreus.cluster.controllers.job.state import observe
from tests.unit.cluster.controllers.jobs import NOW, indexed, job, pod


def outcome_of(wish: KubeObject, *pods: KubeObject) -> JobOutcome | None:
    return observe(wish, pods, NOW).outcome


def reason(wish: KubeObject, *pods: KubeObject) -> str:
    found = outcome_of(wish, *pods)
    return found.reason if found is not None else ""


def planned(wish: KubeObject, *pods: KubeObject) -> Plan:
    return plan(observe(wish, pods, NOW))


def started(wish: KubeObject, *pods: KubeObject) -> list[int | None]:
    return [one.index for one in planned(wish, *pods).start]


def stopped(wish: KubeObject, *pods: KubeObject) -> list[str]:
    return [one.name for one in planned(wish, *pods).stop]


# How many


def test_only_as_many_pods_start_as_completions_are_missing() -> None:
    pods = [pod("a", "Succeeded"), pod("b")]
    assert len(started(job(completions=3, parallelism=5), *pods)) == 1


def test_the_youngest_of_too_many_pods_are_stopped_and_ready_ones_last() -> None:
    pods = [pod("a", age_s=9), pod("b", age_s=1), pod("c", ready=True)]
    assert stopped(job(completions=9, parallelism=1), *pods) == ["b", "a"]


def test_a_queue_of_work_ends_with_the_last_pod_after_a_success() -> None:
    wish, done = job(parallelism=2), pod("a", "Succeeded")
    assert planned(wish, done, pod("b")) == Plan()
    assert reason(wish, done, pod("b")) == ""
    assert reason(wish, done, pod("b", "Succeeded")) == "CompletionsReached"


def test_a_job_is_complete_only_when_nothing_runs_any_more() -> None:
    wish = job(completions=1, parallelism=2)
    assert reason(wish, pod("a", "Succeeded"), pod("b")) == ""
    assert stopped(wish, pod("a", "Succeeded"), pod("b")) == ["b"]


def test_a_suspended_job_has_no_pods() -> None:
    assert stopped(job(completions=2, parallelism=2, suspend=True), pod("a")) == ["a"]
    assert started(job(completions=2, parallelism=2, suspend=True)) == []


def test_a_pod_that_goes_is_replaced_at_once_or_when_it_has_failed() -> None:
    going = pod("a", going=True)
    both: dict[str, Any] = {"completions": 1, "parallelism": 1}
    assert len(started(job(**both), going)) == 1
    assert started(job(**both, podReplacementPolicy="Failed"), going) == []
    policy: dict[str, Any] = {"podReplacementPolicy": "Failed"}
    assert started(indexed(2, **policy), pod("a", index=0, going=True)) == [1]


# Failures


def test_after_a_failure_the_next_pod_waits_and_after_more_it_waits_longer() -> None:
    assert backoff_s([pod("a", "Failed", age_s=4)], NOW) == 6
    assert backoff_s([pod("a", "Failed", age_s=90), pod("b", "Failed", age_s=4)], NOW) == 16
    assert backoff_s([pod("a", "Failed", age_s=9), pod("b", "Succeeded", age_s=4)], NOW) == 0
    assert backoff_s([pod(str(n), "Failed") for n in range(40)], NOW) == 600


def test_a_job_fails_when_its_pods_have_failed_too_often() -> None:
    wish = job({"failed": 1}, completions=1, backoffLimit=2)
    assert reason(wish, pod("a", "Failed")) == ""
    assert reason(wish, pod("a", "Failed"), pod("b", "Failed")) == "BackoffLimitExceeded"


def test_restarts_in_place_are_failures_too() -> None:
    template = {"spec": {"restartPolicy": "OnFailure"}}
    wish = job(completions=1, backoffLimit=2, template=template)
    content = pod("a").to_dict()
    content["status"]["containerStatuses"] = [{"name": "main", "restartCount": 2}]
    assert reason(wish, KubeObject.from_dict(content)) == "BackoffLimitExceeded"


def test_past_its_deadline_a_job_fails_and_its_pods_are_stopped() -> None:
    late = job({"startTime": format_time(NOW - 61)}, completions=1, activeDeadlineSeconds=60)
    assert reason(late, pod("a")) == "DeadlineExceeded"
    assert stopped(late, pod("a")) == ["a"]


def test_before_its_deadline_a_job_is_looked_at_again_in_time() -> None:
    wish = job({"startTime": format_time(NOW - 20)}, completions=1, activeDeadlineSeconds=60)
    assert planned(wish, pod("a")).again_s == 40


def test_what_was_announced_stands_whatever_happens_next() -> None:
    known = {"type": "FailureTarget", "status": "True", "reason": "DeadlineExceeded"}
    wish = job({"conditions": [known]}, completions=1)
    assert reason(wish, pod("a", "Succeeded")) == "DeadlineExceeded"


# Rules about failures


def on_codes(action: str, operator: str, *values: int, container: str = "") -> dict[str, Any]:
    asked: dict[str, Any] = {"operator": operator, "values": list(values)}
    if container:
        asked["containerName"] = container
    return {"action": action, "onExitCodes": asked}


def on_condition(action: str, kind: str) -> dict[str, Any]:
    return {"action": action, "onPodConditions": [{"type": kind, "status": "True"}]}


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (
            on_codes("FailJob", "In", 3, 42),
            "Container main for pod default/a failed with exit code 42 matching FailJob rule "
            "at index 0",
        ),
        (
            on_codes("FailJob", "NotIn", 1, container="main"),
            "Container main for pod default/a failed with exit code 42 matching FailJob rule "
            "at index 0",
        ),
        (
            on_condition("FailJob", "ConfigIssue"),
            "Pod default/a has condition ConfigIssue matching FailJob rule at index 0",
        ),
    ],
)
def test_some_failures_end_the_job_at_once(rule: dict[str, Any], message: str) -> None:
    wish = job(completions=1, podFailurePolicy={"rules": [rule]})
    found = outcome_of(wish, pod("a", "Failed", code=42, condition="ConfigIssue"))
    assert found == JobOutcome(False, "PodFailurePolicy", message)


@pytest.mark.parametrize(
    "rule",
    [
        on_codes("FailJob", "In", 1),
        on_codes("FailJob", "NotIn", 42),
        on_codes("FailJob", "In", 42, container="other"),
        on_condition("FailJob", "DisruptionTarget"),
    ],
)
def test_a_rule_that_does_not_match_decides_nothing(rule: dict[str, Any]) -> None:
    wish = job(completions=1, podFailurePolicy={"rules": [rule]})
    assert outcome_of(wish, pod("a", "Failed", code=42)) is None


def test_ignored_failures_do_not_count() -> None:
    rules = [on_condition("Ignore", "DisruptionTarget"), on_codes("Count", "NotIn", 0)]
    wish = job(completions=1, backoffLimit=0, podFailurePolicy={"rules": rules})
    evicted = pod("a", "Failed", condition="DisruptionTarget")
    assert count_pods(wish, [evicted]).failed == 0
    assert reason(wish, evicted) == ""
    assert reason(wish, pod("a", "Failed", code=1)) == "BackoffLimitExceeded"


# Indexes


def test_the_lowest_missing_indexes_start() -> None:
    pods = [pod("a", "Succeeded", index=0), pod("b", index=2)]
    assert started(indexed(5, parallelism=3), *pods) == [1, 3]


def test_a_second_pod_of_an_index_and_one_beyond_the_last_are_stopped() -> None:
    pods = [pod("a", index=0, age_s=9), pod("b", index=0), pod("c", index=7), pod("d")]
    assert set(stopped(indexed(3), *pods)) == {"b", "c", "d"}


def test_a_job_that_shrinks_forgets_the_indexes_beyond_its_end() -> None:
    wish = indexed(2, {"completedIndexes": "0,4,5"})
    assert count_pods(wish, []).succeeded == 1


def test_an_index_is_tried_again_after_its_own_delay_knowing_its_failures() -> None:
    wish = indexed(2, backoffLimitPerIndex=3)
    failed = pod("a", "Failed", index=0, failures=1, age_s=15, code=1)
    assert planned(wish, failed).start == (Start(1),)
    assert planned(wish, failed, pod("b", index=1, failures=0)).again_s == 5
    longer = pod("a", "Failed", index=0, failures=1, age_s=20, code=1)
    assert planned(wish, longer).start == (Start(0, failures=2), Start(1))


def test_an_index_that_failed_too_often_is_not_tried_again() -> None:
    wish = indexed(2, backoffLimitPerIndex=1)
    failed = pod("a", "Failed", index=0, failures=1, age_s=900)
    assert count_pods(wish, [failed]).failed_indexes == {0}
    assert started(wish, failed) == [1]
    assert reason(wish, failed, pod("b", "Succeeded", index=1)) == "FailedIndexes"
    strict = indexed(2, backoffLimitPerIndex=1, maxFailedIndexes=0)
    assert reason(strict, failed) == "MaxFailedIndexesExceeded"


def test_a_rule_may_give_an_index_up_at_once_or_forgive_it() -> None:
    rules = [on_codes("FailIndex", "In", 42), on_condition("Ignore", "DisruptionTarget")]
    wish = indexed(1, backoffLimitPerIndex=3, podFailurePolicy={"rules": rules})
    assert count_pods(wish, [pod("a", "Failed", index=0, code=42)]).failed_indexes == {0}
    evicted = pod("a", "Failed", index=0, failures=1, age_s=900, condition="DisruptionTarget")
    assert planned(wish, evicted).start == (Start(0, failures=1, ignored=1),)


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ({"succeededIndexes": "0,2"}, "SuccessPolicy"),
        ({"succeededIndexes": "0,1"}, ""),
        ({"succeededIndexes": "1-3", "succeededCount": 1}, "SuccessPolicy"),
        ({"succeededCount": 2}, "SuccessPolicy"),
        ({"succeededCount": 3}, ""),
    ],
)
def test_some_successes_may_be_enough(rule: dict[str, Any], expected: str) -> None:
    wish = indexed(4, successPolicy={"rules": [rule]})
    pods = [pod("a", "Succeeded", index=0), pod("b", "Succeeded", index=2), pod("c", index=1)]
    assert reason(wish, *pods) == expected


@given(st.frozensets(st.integers(0, 50)))
def test_indexes_survive_being_written(indexes: frozenset[int]) -> None:
    assert parse_indexes(format_indexes(indexes)) == indexes


def test_two_neighbours_are_written_as_two_and_three_as_a_run() -> None:
    assert format_indexes(frozenset({0, 1, 3, 5, 6, 7})) == "0,1,3,5-7"
