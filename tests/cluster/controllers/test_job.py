"""Jobs over the wire: completions, parallelism, failures, indexes, suspension, time to live."""

from __future__ import annotations

from typing import Any

from proreus.api.object import KubeObject
from tests.cluster.controllers.stage import Stage, finished, status_of, template
from tests.following import wait_for_list

CONTROLLERS = ("job", "job-orphans", "garbage-collector")
JOB_NAME = "batch.kubernetes.io/job-name"


def job(name: str, **spec: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"template": template({}, restartPolicy="Never"), **spec},
    }


def has(kind: str) -> Any:
    def holds(obj: KubeObject | None) -> bool:
        found = status_of(obj).get("conditions") or ()
        return any((one.type, one.status) == (kind, "True") for one in found)

    return holds


async def test_a_job_runs_its_pods_until_enough_have_succeeded(stage: Stage) -> None:
    stage.finishes = True
    jobs = stage.client.batch_v1.jobs("default")

    await jobs.create(job("sum", completions=5, parallelism=2))

    done = await stage.wait(jobs, "sum", has("Complete"))
    assert done is not None
    assert done.status.succeeded == 5
    assert done.status.completionTime
    assert len((await stage.client.core_v1.pods("default").list()).items) == 5


async def test_no_more_pods_run_than_parallelism_allows(stage: Stage) -> None:
    jobs = stage.client.batch_v1.jobs("default")
    await jobs.create(job("sum", completions=9, parallelism=3))

    await stage.wait(jobs, "sum", lambda it: status_of(it).get("ready") == 3)

    assert len((await stage.client.core_v1.pods("default").list()).items) == 3


async def test_a_job_fails_when_its_pods_fail_too_often(stage: Stage) -> None:
    jobs, pods = stage.client.batch_v1.jobs("default"), stage.client.core_v1.pods("default")
    await jobs.create(job("sum", completions=2, parallelism=2, backoffLimit=0))
    await stage.wait(jobs, "sum", lambda it: status_of(it).get("ready") == 2)
    broken = (await pods.list()).items[0]

    await pods.patch_status(broken.name, finished("Failed"))

    done = await stage.wait(jobs, "sum", has("Failed"))
    assert done is not None
    assert done.status.conditions[-1].reason == "BackoffLimitExceeded"
    assert [pod.name for pod in (await pods.list()).items] == [broken.name]


async def test_every_index_succeeds_once(stage: Stage) -> None:
    stage.finishes = True
    jobs = stage.client.batch_v1.jobs("default")

    await jobs.create(job("parts", completions=4, parallelism=4, completionMode="Indexed"))

    done = await stage.wait(jobs, "parts", has("Complete"))
    assert done is not None
    assert done.status.completedIndexes == "0-3"


async def test_a_suspended_job_has_no_pods_until_it_is_resumed(stage: Stage) -> None:
    stage.finishes = True
    jobs = stage.client.batch_v1.jobs("default")
    await jobs.create(job("sum", suspend=True))
    await stage.wait(jobs, "sum", has("Suspended"))
    assert not (await stage.client.core_v1.pods("default").list()).items

    await jobs.patch("sum", {"spec": {"suspend": False}})

    await stage.wait(jobs, "sum", has("Complete"))


async def test_a_job_that_is_over_goes_after_its_time_to_live(stage: Stage) -> None:
    stage.finishes = True
    jobs = stage.client.batch_v1.jobs("default")

    await jobs.create(job("sum", ttlSecondsAfterFinished=0))

    await jobs.wait_deleted("sum", timeout_s=60)


def reason(done: KubeObject | None, kind: str) -> str:
    assert done is not None
    found = [one.reason for one in done.status.conditions if one.type == kind]
    return str(found[0])


def has_ready(count: int) -> Any:
    return lambda it: status_of(it).get("ready") == count


async def test_a_pod_is_counted_even_if_it_is_deleted_at_its_end(stage: Stage) -> None:
    jobs, pods = stage.client.batch_v1.jobs("default"), stage.client.core_v1.pods("default")
    await jobs.create(job("sum", completions=1))
    await stage.wait(jobs, "sum", has_ready(1))
    (only,) = (await pods.list()).items

    await pods.patch_status(only.name, finished("Succeeded"))
    await pods.delete(only.name, grace_period_s=0)

    done = await stage.wait(jobs, "sum", has("Complete"))
    assert done is not None
    assert done.status.succeeded == 1
    assert done.status.uncountedTerminatedPods == {}
    await pods.wait_deleted(only.name, timeout_s=60)


async def test_a_pod_that_is_deleted_while_it_runs_has_failed_and_is_replaced(
    stage: Stage,
) -> None:
    jobs, pods = stage.client.batch_v1.jobs("default"), stage.client.core_v1.pods("default")
    await jobs.create(job("sum", completions=1))
    await stage.wait(jobs, "sum", has_ready(1))
    (only,) = (await pods.list()).items

    await pods.delete(only.name)

    await pods.wait_deleted(only.name, timeout_s=60)
    again = await stage.wait(
        jobs, "sum", lambda it: status_of(it).get("failed") == 1 and has_ready(1)(it)
    )
    assert again is not None


async def test_a_job_takes_its_pods_with_it(stage: Stage) -> None:
    jobs, pods = stage.client.batch_v1.jobs("default"), stage.client.core_v1.pods("default")
    await jobs.create(job("sum", completions=2, parallelism=2))
    await stage.wait(jobs, "sum", has_ready(2))
    names = [pod.name for pod in (await pods.list()).items]

    await jobs.delete("sum", propagation="Background")

    for name in names:
        await pods.wait_deleted(name, timeout_s=60)


async def test_pods_that_are_left_behind_are_not_held(stage: Stage) -> None:
    jobs, pods = stage.client.batch_v1.jobs("default"), stage.client.core_v1.pods("default")
    await jobs.create(job("sum", completions=1))
    await stage.wait(jobs, "sum", has_ready(1))
    (only,) = (await pods.list()).items

    await jobs.delete("sum", propagation="Orphan")

    def is_free(pod: KubeObject | None) -> bool:
        return pod is not None and not (pod.metadata.finalizers or pod.metadata.ownerReferences)

    await stage.wait(pods, only.name, is_free)


async def test_pods_that_are_not_needed_go_without_having_failed(stage: Stage) -> None:
    jobs, pods = stage.client.batch_v1.jobs("default"), stage.client.core_v1.pods("default")
    await jobs.create(job("sum", completions=9, parallelism=3))
    await stage.wait(jobs, "sum", has_ready(3))

    await jobs.patch("sum", {"spec": {"parallelism": 1}})
    await stage.wait(jobs, "sum", has_ready(1))
    await jobs.patch("sum", {"spec": {"suspend": True}})
    idle = await stage.wait(
        jobs, "sum", lambda it: has("Suspended")(it) and not status_of(it).get("terminating")
    )

    assert idle is not None
    assert idle.status.failed is None
    await wait_for_list(pods, lambda found: not found)


async def test_a_failure_that_the_policy_names_ends_the_job(stage: Stage) -> None:
    jobs, pods = stage.client.batch_v1.jobs("default"), stage.client.core_v1.pods("default")
    rule = {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [42]}}
    await jobs.create(job("sum", completions=2, parallelism=2, podFailurePolicy={"rules": [rule]}))
    await stage.wait(jobs, "sum", has_ready(2))

    await pods.patch_status((await pods.list()).items[0].name, exited(42))

    done = await stage.wait(jobs, "sum", has("Failed"))
    assert reason(done, "FailureTarget") == reason(done, "Failed") == "PodFailurePolicy"
    assert done is not None
    assert (done.status.active, done.status.terminating) == (None, 0)


async def test_an_index_that_is_given_up_does_not_stop_the_others(stage: Stage) -> None:
    jobs, pods = stage.client.batch_v1.jobs("default"), stage.client.core_v1.pods("default")
    rule = {"action": "FailIndex", "onExitCodes": {"operator": "In", "values": [42]}}
    spec: dict[str, Any] = {
        "completionMode": "Indexed",
        "completions": 3,
        "parallelism": 3,
        "backoffLimitPerIndex": 1,
        "podFailurePolicy": {"rules": [rule]},
    }
    await jobs.create(job("parts", **spec))
    await stage.wait(jobs, "parts", has_ready(3))
    for pod in (await pods.list()).items:
        index = pod.labels["batch.kubernetes.io/job-completion-index"]
        await pods.patch_status(pod.name, exited(42 if index == "1" else 0))

    done = await stage.wait(jobs, "parts", has("Failed"))

    assert reason(done, "Failed") == "FailedIndexes"
    assert done is not None
    assert (done.status.completedIndexes, done.status.failedIndexes) == ("0,2", "1")


async def test_a_leader_that_succeeds_may_end_the_job(stage: Stage) -> None:
    jobs, pods = stage.client.batch_v1.jobs("default"), stage.client.core_v1.pods("default")
    spec: dict[str, Any] = {
        "completionMode": "Indexed",
        "completions": 3,
        "parallelism": 3,
        "successPolicy": {"rules": [{"succeededIndexes": "0"}]},
    }
    await jobs.create(job("parts", **spec))
    await stage.wait(jobs, "parts", has_ready(3))
    label = "batch.kubernetes.io/job-completion-index"
    (leader,) = (await pods.list(label_selector=f"{label}=0")).items

    await pods.patch_status(leader.name, exited(0))

    done = await stage.wait(jobs, "parts", has("Complete"))
    assert reason(done, "SuccessCriteriaMet") == reason(done, "Complete") == "SuccessPolicy"
    assert [pod.name for pod in (await pods.list()).items] == [leader.name]


async def test_a_job_that_takes_too_long_fails(stage: Stage) -> None:
    jobs = stage.client.batch_v1.jobs("default")
    await jobs.create(job("sum", completions=1, activeDeadlineSeconds=1))

    done = await stage.wait(jobs, "sum", has("Failed"))

    assert reason(done, "Failed") == "DeadlineExceeded"
    assert not await stage.active()


async def test_a_job_that_somebody_else_manages_is_left_alone(stage: Stage) -> None:
    jobs = stage.client.batch_v1.jobs("default")
    await jobs.create(job("theirs", managedBy="example.com/batch"))
    await jobs.create(job("ours"))

    await stage.wait(jobs, "ours", has_ready(1))

    assert not (await jobs.get("theirs")).status
    assert len(await stage.active()) == 1


def exited(code: int) -> dict[str, Any]:
    ended = {"exitCode": code, "finishedAt": "2026-01-01T00:00:00Z"}
    container = {
        "name": "main", "image": "web:1", "imageID": "", "ready": False, "restartCount": 0,
        "state": {"terminated": ended},
    }  # fmt: skip
    status = {"phase": "Failed" if code else "Succeeded", "containerStatuses": [container]}
    return {"status": status}


async def test_an_orphan_is_adopted_again_and_a_pod_without_its_labels_is_released(
    stage: Stage,
) -> None:
    jobs, pods = stage.client.batch_v1.jobs("default"), stage.client.core_v1.pods("default")
    made = await jobs.create(job("sum", completions=4, parallelism=2))
    await stage.wait(jobs, "sum", lambda it: status_of(it).get("ready") == 2)
    taken = (await pods.list()).items[0]

    await pods.patch(taken.name, {"metadata": {"ownerReferences": None}})

    def is_owned(pod: KubeObject | None) -> bool:
        owners = pod.metadata.ownerReferences if pod is not None else None
        return [one.uid for one in owners or ()] == [made.uid]

    adopted = await stage.wait(pods, taken.name, is_owned)
    assert adopted is not None
    assert adopted.metadata.finalizers == ["batch.kubernetes.io/job-tracking"]
    assert len((await pods.list()).items) == 2

    await pods.patch(taken.name, {"metadata": {"labels": None}})

    await stage.wait(pods, taken.name, lambda pod: pod and not pod.metadata.ownerReferences)
    await stage.wait(pods, taken.name, lambda pod: pod and not pod.metadata.finalizers)
    found = await stage.wait_active(2, **{JOB_NAME: "sum"})
    stage.finishes = True
    for pod in found:
        await pods.patch_status(pod.name, finished("Succeeded"))
    done = await stage.wait(jobs, "sum", has("Complete"))
    assert done is not None
    assert (done.status.succeeded, done.status.get("failed")) == (4, None)
    assert (await pods.get(taken.name)).status.phase == "Running"


async def test_a_pod_that_a_job_adopts_again_still_counts(stage: Stage) -> None:
    """Nobody takes the mark off it by which it is counted."""
    jobs, pods = stage.client.batch_v1.jobs("default"), stage.client.core_v1.pods("default")
    await jobs.create(job("sum", completions=2, parallelism=2))
    await stage.wait(jobs, "sum", lambda it: status_of(it).get("ready") == 2)

    for pod in (await pods.list()).items:
        orphaned = await pods.patch(pod.name, {"metadata": {"ownerReferences": None}})
        await pods.patch_status(orphaned.name, finished("Succeeded"))

    done = await stage.wait(jobs, "sum", has("Complete"))
    assert done is not None
    assert done.status.succeeded == 2
    assert len((await pods.list()).items) == 2
