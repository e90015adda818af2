"""Jobs over the wire: completions, parallelism, failures, indexes, suspension, time to live."""

from __future__ import annotations

from typing import Any

from proreus.api.object import KubeObject
from tests.cluster.controllers.stage import Stage, finished, template, told_status

CONTROLLERS = ("job", "garbage-collector")


def job(name: str, **spec: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"template": template({}, restartPolicy="Never"), **spec},
    }


def has(kind: str) -> Any:
    def holds(obj: KubeObject | None) -> bool:
        found = told_status(obj).get("conditions") or ()
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

    await stage.wait(jobs, "sum", lambda it: told_status(it).get("ready") == 3)

    assert len((await stage.client.core_v1.pods("default").list()).items) == 3


async def test_a_job_fails_when_its_pods_fail_too_often(stage: Stage) -> None:
    jobs, pods = stage.client.batch_v1.jobs("default"), stage.client.core_v1.pods("default")
    await jobs.create(job("sum", completions=2, parallelism=2, backoffLimit=0))
    await stage.wait(jobs, "sum", lambda it: told_status(it).get("ready") == 2)
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

    await jobs.wait_for("sum", "delete", timeout_s=10)
