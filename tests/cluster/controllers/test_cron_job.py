"""CronJobs over the wire: Jobs at their time, not too many at once, not kept for ever."""

from __future__ import annotations

from typing import Any

from proreus.aio.clock import SystemClock
from proreus.api.values.timestamp import format_time
from tests.cluster.controllers.stage import Stage, template, told_status

CONTROLLERS = ("cronjob", "job", "garbage-collector")


def cron_job(**spec: Any) -> dict[str, Any]:
    job = {"spec": {"template": template({}, restartPolicy="Never")}}
    return {
        "metadata": {"name": "tick", "namespace": "default"},
        "spec": {"schedule": "* * * * *", "jobTemplate": job, **spec},
    }


async def let_pass(stage: Stage, seconds: float) -> None:
    """As if the last Job had been started so long ago."""
    last = format_time(SystemClock().now() - seconds)
    api = stage.client.batch_v1.cronjobs("default")
    await api.patch_status("tick", {"status": {"lastScheduleTime": last}})


async def test_a_missed_moment_is_made_up_for_once(stage: Stage) -> None:
    stage.finishes = True
    api = stage.client.batch_v1.cronjobs("default")
    await api.create(cron_job())

    await let_pass(stage, 300)

    done = await stage.wait(api, "tick", lambda it: told_status(it).get("lastSuccessfulTime"))
    assert done is not None
    (job,) = (await stage.client.batch_v1.jobs("default").list()).items
    assert job.metadata.ownerReferences[0].name == "tick"


async def test_a_suspended_cron_job_starts_nothing_until_it_is_resumed(stage: Stage) -> None:
    api = stage.client.batch_v1.cronjobs("default")
    await api.create(cron_job(suspend=True))
    await let_pass(stage, 300)
    assert not (await stage.client.batch_v1.jobs("default").list()).items

    await api.patch("tick", {"spec": {"suspend": False}})

    await stage.wait(api, "tick", lambda it: told_status(it).get("active"))
