"""A cluster of chosen parts, moved through time by one clock."""

from __future__ import annotations

from typing import Any

import pytest

from proreus.testing.cluster import running_cluster
from proreus.testing.virtual_clock import VirtualClock

_POD: dict[str, Any] = {
    "metadata": {"labels": {"app": "web"}},
    "spec": {"containers": [{"name": "main", "image": "any"}]},
}


async def test_a_deployment_runs_after_settle() -> None:
    parts = ["deployment", "replicaset", "serviceaccount"]
    clock = VirtualClock()
    async with (
        running_cluster(clock=clock, controllers=parts) as cluster,
        cluster.client() as client,
    ):
        deployments = client.apps_v1.deployments("default")
        spec = {"replicas": 3, "selector": {"matchLabels": {"app": "web"}}, "template": _POD}
        await deployments.create({"metadata": {"name": "web"}, "spec": spec})
        await cluster.settle()

        found = await deployments.get("web")

    assert found["status"]["readyReplicas"] == 3


async def test_a_cron_job_is_due_eighteen_times_in_three_hours() -> None:
    clock = VirtualClock()
    parts = ["cronjob", "job", "serviceaccount"]
    async with (
        running_cluster(clock=clock, controllers=parts) as cluster,
        cluster.client() as client,
    ):
        template = {"spec": {"restartPolicy": "Never", "containers": _POD["spec"]["containers"]}}
        spec = {
            "schedule": "*/10 * * * *",
            "successfulJobsHistoryLimit": 100,
            "jobTemplate": {"spec": {"template": template}},
        }
        await client.batch_v1.cronjobs("default").create(
            {"metadata": {"name": "tick"}, "spec": spec}
        )
        await cluster.advance("3h")

        jobs = await client.batch_v1.jobs("default").list()

    assert len(jobs) == 18
    assert all(job["status"]["succeeded"] == 1 for job in jobs)


async def test_a_controller_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ValueError, match="no such controllers: deploiment"):
        async with running_cluster(controllers=["deploiment"]):
            pass
