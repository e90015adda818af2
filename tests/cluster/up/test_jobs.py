"""Jobs whose commands end as they say, in a running cluster."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.cluster.up.kubectl import Kubectl
from tests.kubectl import needs_kubectl

pytestmark = needs_kubectl
ODD = "test $JOB_COMPLETION_INDEX = 1 || test $JOB_COMPLETION_INDEX = 3"


def job(name: str, script: str, **spec: Any) -> dict[str, Any]:
    container = {"name": "main", "image": "work:1", "command": ["sh", "-c", script]}
    pod = {"restartPolicy": "Never", "containers": [container]}
    template = {"metadata": {"labels": {"app": name}}, "spec": pod}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {"template": template, **spec},
    }


def indexed(name: str, script: str, **spec: Any) -> dict[str, Any]:
    return job(name, script, completionMode="Indexed", completions=4, parallelism=4, **spec)


def fail_index(code: int) -> dict[str, Any]:
    codes = {"operator": "In", "values": [code]}
    return {"rules": [{"action": "FailIndex", "onExitCodes": codes}]}


@pytest.fixture(scope="module")
def jobs(kubectl: Kubectl) -> Kubectl:
    """All begin together, because some wait for ten seconds before they try again."""
    bodies = [
        indexed("retried", f"{ODD} || exit 0; exit 1", backoffLimitPerIndex=1),
        indexed("given-up", f"{ODD} || exit 0; exit 42", backoffLimitPerIndex=3,
                podFailurePolicy=fail_index(42)),
        indexed("hopeless-parts", "exit 1", backoffLimitPerIndex=0, maxFailedIndexes=1),
        indexed("led", "test $JOB_COMPLETION_INDEX = 0 && exit 0; sleep 1h",
                successPolicy={"rules": [{"succeededIndexes": "0"}]}),
        indexed("all", "exit 0", successPolicy={"rules": [{"succeededIndexes": "0-3"}]}),
        job("evicted", "sleep 1h", parallelism=2, completions=2, backoffLimit=0,
            podFailurePolicy={"rules": [{
                "action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}],
            }]}),
        job("interrupted", "sleep 1h", backoffLimit=0),
    ]  # fmt: skip
    everything = {"apiVersion": "v1", "kind": "List", "items": bodies}
    kubectl("create", "-f", "-", stdin=json.dumps(everything))
    return kubectl


def ended(kubectl: Kubectl, name: str, condition: str) -> dict[str, Any]:
    kubectl("wait", f"--for=condition={condition}", f"job/{name}", "--timeout=80s")
    status: dict[str, Any] = json.loads(kubectl("get", "job", name, "-o", "json"))["status"]
    return status


def reasons(status: dict[str, Any]) -> dict[str, str]:
    return {one["type"]: one["reason"] for one in status["conditions"]}


def pods(kubectl: Kubectl, name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(
        kubectl("get", "pods", "-l", f"app={name}", "-o", "json")
    )["items"]
    return found


def evict(kubectl: Kubectl, name: str) -> None:
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}}
    path = f"/api/v1/namespaces/default/pods/{name}/eviction"
    kubectl("create", "--raw", path, "-f", "-", stdin=json.dumps(body))


def test_a_rule_gives_an_index_up_at_its_first_failure(jobs: Kubectl) -> None:
    status = ended(jobs, "given-up", "Failed")
    assert reasons(status)["Failed"] == "FailedIndexes"
    assert (status["failedIndexes"], status["completedIndexes"]) == ("1,3", "0,2")
    assert (status["failed"], status["succeeded"]) == (2, 2)


def test_a_job_ends_when_too_many_indexes_have_failed(jobs: Kubectl) -> None:
    status = ended(jobs, "hopeless-parts", "Failed")
    assert reasons(status)["Failed"] == "MaxFailedIndexesExceeded"
    assert not status.get("completedIndexes")


def test_a_leader_that_succeeds_ends_those_that_work_on(jobs: Kubectl) -> None:
    status = ended(jobs, "led", "Complete")
    assert reasons(status) == {"SuccessCriteriaMet": "SuccessPolicy", "Complete": "SuccessPolicy"}
    assert (status["completedIndexes"], status.get("active", 0)) == ("0", 0)


def test_a_success_policy_is_met_by_all_indexes(jobs: Kubectl) -> None:
    status = ended(jobs, "all", "Complete")
    assert reasons(status)["SuccessCriteriaMet"] == "SuccessPolicy"
    assert status["completedIndexes"] == "0-3"


def test_pods_that_are_evicted_are_replaced_without_having_failed(jobs: Kubectl) -> None:
    jobs("wait", "--for=jsonpath={.status.ready}=2", "job/evicted", "--timeout=60s")
    before = {pod["metadata"]["uid"] for pod in pods(jobs, "evicted")}

    for pod in pods(jobs, "evicted"):
        evict(jobs, pod["metadata"]["name"])

    ready = "jsonpath={.status.ready} {.status.failed} {.status.succeeded}"
    path = ("get", "pods", "-l", "app=evicted", "-o", "jsonpath={.items[*].metadata.uid}")
    jobs.until(lambda said: len(said.split()) == 2 and not before & set(said.split()), *path)
    jobs.until(lambda said: said.strip() == "2", "get", "job", "evicted", "-o", ready)


def test_a_pod_that_is_deleted_before_its_work_is_done_has_failed(jobs: Kubectl) -> None:
    jobs("wait", "--for=jsonpath={.status.ready}=1", "job/interrupted", "--timeout=60s")

    jobs("delete", "pod", "-l", "app=interrupted")

    assert reasons(ended(jobs, "interrupted", "Failed"))["Failed"] == "BackoffLimitExceeded"


def test_an_index_has_its_own_number_of_failures(jobs: Kubectl) -> None:
    status = ended(jobs, "retried", "Failed")
    assert (status["failedIndexes"], status["completedIndexes"]) == ("1,3", "0,2")
    assert (status["failed"], status["succeeded"]) == (4, 2)
