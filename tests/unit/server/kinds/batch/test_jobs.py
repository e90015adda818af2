"""What a job may ask for, how it may change, and what may be reported of it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.server.kinds.creating import CONTAINER, created, errors, status_errors, updated

TEMPLATE = {"spec": {"restartPolicy": "Never", "containers": [CONTAINER]}}
START = "2026-01-01T00:00:00Z"


def job_errors(**spec: Any) -> list[str]:
    return errors("batch/v1", "Job", spec={"template": TEMPLATE, **spec})


def job(**spec: Any) -> dict[str, Any]:
    return created("batch/v1", "Job", spec={"template": TEMPLATE, **spec})


@pytest.mark.parametrize(
    ("spec", "problems"),
    [
        ({"maxFailedIndexes": 1},
         ["spec.backoffLimitPerIndex: Required value: when maxFailedIndexes is specified",
          "spec.maxFailedIndexes: Invalid value: 1: requires indexed completion mode"]),
        ({"completionMode": "Indexed", "completions": 2, "backoffLimitPerIndex": 1,
          "maxFailedIndexes": 3},
         ["spec.maxFailedIndexes: Invalid value: 3: must be less than or equal to completions"]),
        ({"managedBy": "x"},
         ['spec.managedBy: Invalid value: "x": must be a domain-prefixed path (such as '
          '"acme.io/foo")']),
        ({"managedBy": "acme.io/" + "x" * 60},
         ["spec.managedBy: Too long: may not be more than 63 bytes"]),
        ({"podFailurePolicy": {"rules": [{"onPodConditions": [{"type": "A"}]}]}},
         ['spec.podFailurePolicy.rules[0].action: Required value: valid values: ["Count" '
          '"FailIndex" "FailJob" "Ignore"]']),
        ({"completionMode": "Indexed", "completions": 2,
          "successPolicy": {"rules": [{"succeededIndexes": "0", "succeededCount": 2}]}},
         ["spec.successPolicy.rules[0].succeededCount: Invalid value: 2: must be less than or "
          "equal to 1 (the number of indexes in the specified succeededIndexes field)"]),
    ],
)  # fmt: skip
def test_a_job_is_validated(spec: dict[str, Any], problems: list[str]) -> None:
    assert job_errors(**spec) == problems


def test_an_invalid_selector_of_a_job_is_its_only_violation() -> None:
    labels = {"metadata": {"labels": {"a": "b"}}, **TEMPLATE}
    selector = {"matchExpressions": [{"key": "a", "operator": "Odd"}]}

    found = job_errors(manualSelector=True, template=labels, selector=selector)

    assert [text.partition(": ")[0] for text in found] == [
        "spec.selector.matchExpressions[0].operator"
    ]


def test_a_job_without_a_name_has_no_violations_in_its_labels() -> None:
    assert errors("batch/v1", "Job", metadata={"name": ""}, spec={"template": TEMPLATE}) == []


def test_the_pods_of_an_indexed_job_need_hostnames() -> None:
    name = "x" * 62
    spec = {"template": TEMPLATE, "completionMode": "Indexed", "completions": 2}

    found = errors("batch/v1", "Job", metadata={"name": name}, spec=spec)

    assert found == [
        f'metadata.name: Invalid value: "{name}": will not able to create pod with invalid DNS '
        f"label: {name}-1"
    ]


def test_an_indexed_job_changes_its_size_in_both_numbers() -> None:
    old = job(completionMode="Indexed", completions=2, parallelism=2)

    assert updated(old, {"spec": {"completions": 3, "parallelism": 3}})[1] == []
    assert updated(old, {"spec": {"completions": 3}})[1] == [
        "spec.completions: Invalid value: 3: can only be modified in tandem with spec.parallelism"
    ]


def test_a_suspended_job_may_still_change_which_nodes_to_use() -> None:
    old = job(suspend=True)

    nodes = {"template": {"spec": {"nodeSelector": {"a": "b"}}}}
    neighbours: dict[str, Any] = {"template": {"spec": {"affinity": {"podAffinity": {}}}}}

    assert updated(old, {"spec": nodes})[1] == []
    assert len(updated(old, {"spec": neighbours})[1]) == 1


def ended(*kinds: str) -> list[dict[str, str]]:
    return [{"type": kind, "status": "True"} for kind in kinds]


@pytest.mark.parametrize(
    ("status", "problems"),
    [
        ({"startTime": START, "completionTime": START,
          "conditions": ended("SuccessCriteriaMet", "Complete")}, []),
        ({"startTime": START, "conditions": ended("FailureTarget", "Failed")}, []),
        ({"startTime": START, "conditions": ended("Failed")},
         ["status.conditions: Invalid value: cannot set Failed=True condition without the "
          "FailureTarget=true condition"]),
        ({"startTime": START, "conditions": ended("SuccessCriteriaMet", "Complete")},
         ["status.completionTime: Required value: completionTime is required for Complete jobs"]),
        ({"conditions": ended("FailureTarget", "Failed"), "active": 1},
         ["status.active: Invalid value: 1: active>0 is invalid for finished job",
          "status.startTime: Required value: startTime is required for finished job"]),
        ({"ready": 2, "active": 1},
         ["status.ready: Invalid value: 2: cannot set more ready pods than active"]),
        ({"completedIndexes": "0"},
         ['status.completedIndexes: Invalid value: "0": cannot set non-empty completedIndexes when '
          "non-indexed completion mode"]),
    ],
)  # fmt: skip
def test_a_status_is_validated(status: dict[str, Any], problems: list[str]) -> None:
    assert status_errors(job(), status) == problems


def test_a_negative_count_is_invalid_also_where_nothing_else_is_reported() -> None:
    found = status_errors(job(), {"active": -1})

    assert found[0] == "status.active: Invalid value: -1: must be greater than or equal to 0"


@pytest.mark.parametrize(
    ("completed", "failed", "problems"),
    [
        ("0,2", "1", []),
        ("0-2", "1,3",
         ['status.failedIndexes: Invalid value: "1,3": failedIndexes and completedIndexes overlap '
          "at index: 1"]),
        ("0-1-2", "",
         ['status.completedIndexes: Invalid value: "0-1-2": error parsing completedIndexes: the '
          'fragment "0-1-2" violates the requirement that an index interval can have at most two '
          "parts separated by '-'"]),
        ("", "7",
         ['status.failedIndexes: Invalid value: "7": error parsing failedIndexes: too large '
          'index: "7"']),
    ],
)  # fmt: skip
def test_an_index_is_completed_or_failed(completed: str, failed: str, problems: list[str]) -> None:
    indexed = job(completionMode="Indexed", completions=4, parallelism=1, backoffLimitPerIndex=1)

    status = {"completedIndexes": completed, "failedIndexes": failed}

    assert status_errors(indexed, status) == problems


def test_a_job_ends_when_its_pods_are_counted_and_gone() -> None:
    status = {
        "startTime": START,
        "conditions": ended("FailureTarget", "Failed"),
        "uncountedTerminatedPods": {"failed": ["a"]},
        "terminating": 1,
    }

    assert status_errors(job(), status) == [
        'status.uncountedTerminatedPods: Invalid value: {"Succeeded":null,"Failed":["a"]}: '
        "uncountedTerminatedPods needs to be empty for finished job",
        "status.terminating: Invalid value: 1: terminating>0 is invalid for finished job",
    ]


def test_the_time_of_completion_stays() -> None:
    old = job()
    old["status"] = {
        "startTime": START,
        "completionTime": START,
        "conditions": ended("SuccessCriteriaMet", "Complete"),
    }

    assert status_errors(old, {"completionTime": "2027-01-01T00:00:00Z"}) == [
        'status.completionTime: Invalid value: "2027-01-01T00:00:00Z": completionTime cannot be '
        "mutated"
    ]


def test_what_has_ended_stays_ended() -> None:
    old = job()
    old["status"] = {"startTime": START, "failed": 1, "conditions": ended("FailureTarget")}

    assert status_errors(old, {"failed": 0, "conditions": []}) == [
        "status.conditions: Invalid value: cannot disable the terminal FailureTarget=True "
        "condition",
        "status.failed: Invalid value: 0: cannot decrease the failed counter",
    ]


def test_the_jobs_of_a_cron_job_find_their_pods_by_themselves() -> None:
    template = {"spec": {"template": TEMPLATE, "manualSelector": True, "selector": {}}}

    found = errors("batch/v1", "CronJob", spec={"schedule": "@daily", "jobTemplate": template})

    assert found == [
        "spec.jobTemplate.spec.selector: Invalid value: {}: `selector` will be auto-generated",
        'spec.jobTemplate.spec.manualSelector: Unsupported value: true: supported values: "nil", '
        '"false"',
    ]
