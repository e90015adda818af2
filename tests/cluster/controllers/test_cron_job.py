"""CronJobs over the wire: Jobs at their time, not too many at once, not kept for ever."""

from __future__ import annotations

import asyncio
from typing import Any

from proreus.aio.clock import SystemClock
from proreus.api.values.timestamp import format_time, parse_time
from proreus.client.ownership import controller_reference
from tests.cluster.controllers.stage import Stage, finished, status_of, template
from tests.following import wait_for_list

CONTROLLERS = ("cronjob", "job", "job-orphans", "garbage-collector")


class StandingClock(SystemClock):
    """In the middle of a minute for ever: nothing becomes due while a test looks."""

    def __init__(self) -> None:
        super().__init__()
        self._now = super().now() // 60 * 60 + 30

    def now(self) -> float:
        return self._now


CLOCK = StandingClock()


def cron_job(**spec: Any) -> dict[str, Any]:
    job = {"spec": {"template": template({}, restartPolicy="Never")}}
    return {
        "metadata": {"name": "tick", "namespace": "default"},
        "spec": {"schedule": "* * * * *", "jobTemplate": job, **spec},
    }


async def let_pass(stage: Stage, seconds: float) -> None:
    """As if the last Job had been started so long ago."""
    last = format_time(CLOCK.now() - seconds)
    api = stage.client.batch_v1.cronjobs("default")
    await api.patch_status("tick", {"status": {"lastScheduleTime": last}})


async def test_a_missed_moment_is_made_up_for_once(stage: Stage) -> None:
    stage.finishes = True
    api = stage.client.batch_v1.cronjobs("default")
    await api.create(cron_job())

    await let_pass(stage, 300)

    done = await stage.wait(api, "tick", lambda it: status_of(it).get("lastSuccessfulTime"))
    assert done is not None
    (job,) = (await stage.client.batch_v1.jobs("default").list()).items
    assert job["metadata"]["ownerReferences"][0].name == "tick"


async def test_a_suspended_cron_job_starts_nothing_until_it_is_resumed(stage: Stage) -> None:
    api = stage.client.batch_v1.cronjobs("default")
    await api.create(cron_job(suspend=True))
    await let_pass(stage, 300)
    assert not (await stage.client.batch_v1.jobs("default").list()).items

    await api.patch("tick", {"spec": {"suspend": False}})

    await stage.wait(api, "tick", lambda it: status_of(it).get("active"))


def active(count: int) -> Any:
    return lambda it: len(status_of(it).get("active") or ()) == count


async def resume_beside_a_running_job(stage: Stage, policy: str) -> None:
    """A CronJob whose time has come while ``tick-earlier`` still runs."""
    api, jobs = stage.client.batch_v1.cronjobs("default"), stage.client.batch_v1.jobs("default")
    made = await api.create(cron_job(suspend=True, concurrencyPolicy=policy))
    metadata = {"name": "tick-earlier", "ownerReferences": [controller_reference(made)]}
    spec = {"template": template({}, restartPolicy="Never")}
    await jobs.create({"metadata": metadata, "spec": spec})
    await stage.wait(api, "tick", active(1))
    await stage.wait(jobs, "tick-earlier", lambda it: status_of(it).get("ready") == 1)
    await let_pass(stage, 300)
    await api.patch("tick", {"spec": {"suspend": False}})


async def test_forbid_waits_for_the_job_that_runs(stage: Stage) -> None:
    api, events = stage.client.batch_v1.cronjobs("default"), stage.client.core_v1.events("default")
    await resume_beside_a_running_job(stage, "Forbid")

    async with asyncio.timeout(60), events.watch() as watched:
        async for event in watched:
            if event.object.reason == "JobAlreadyActive":
                break
    names = [job.name for job in (await stage.client.batch_v1.jobs("default").list()).items]
    assert names == ["tick-earlier"]

    for pod in await stage.active():
        await stage.client.core_v1.pods("default").patch_status(pod.name, finished("Succeeded"))
    await stage.wait(
        api,
        "tick",
        lambda it: active(1)(it) and status_of(it).active[0].name != "tick-earlier",
    )


async def test_replace_stops_the_job_that_runs(stage: Stage) -> None:
    api, jobs = stage.client.batch_v1.cronjobs("default"), stage.client.batch_v1.jobs("default")
    await resume_beside_a_running_job(stage, "Replace")

    (job,) = await wait_for_list(
        jobs, lambda found: len(found) == 1 and found[0].name != "tick-earlier"
    )
    await stage.wait(
        api, "tick", lambda it: [one.name for one in status_of(it)["active"]] == [job.name]
    )


async def test_allow_starts_another_beside_it(stage: Stage) -> None:
    api = stage.client.batch_v1.cronjobs("default")
    await resume_beside_a_running_job(stage, "Allow")

    await stage.wait(api, "tick", active(2))


async def test_jobs_beyond_the_history_go(stage: Stage) -> None:
    stage.finishes = True
    api, jobs = stage.client.batch_v1.cronjobs("default"), stage.client.batch_v1.jobs("default")
    await api.create(cron_job(successfulJobsHistoryLimit=0))
    await let_pass(stage, 90)

    done = await stage.wait(api, "tick", lambda it: status_of(it).get("lastSuccessfulTime"))
    assert done is not None
    minute = int(parse_time(done.status.lastScheduleTime)) // 60
    await jobs.wait_deleted(f"tick-{minute}", timeout_s=60)


async def test_a_moment_that_is_too_long_ago_is_given_up(stage: Stage) -> None:
    api = stage.client.batch_v1.cronjobs("default")
    await api.create(
        cron_job(schedule="0 0 1 1 *", timeZone="Europe/Berlin", startingDeadlineSeconds=60)
    )
    await let_pass(stage, 400 * 86400)
    await api.patch("tick", {"spec": {"startingDeadlineSeconds": 400 * 86400}})

    done = await stage.wait(api, "tick", active(1))
    assert done is not None
    (job,) = (await stage.client.batch_v1.jobs("default").list()).items
    annotation = job.annotations["batch.kubernetes.io/cronjob-scheduled-timestamp"]
    assert annotation.endswith("-01-01T00:00:00+01:00")
