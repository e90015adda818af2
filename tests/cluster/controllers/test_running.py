"""All controllers together, and two processes of which one works."""

from __future__ import annotations

import asyncio

from proreus.aio.clock import SystemClock
from proreus.aio.tasks import background
from proreus.client.leader_election import ElectionTiming
from proreus.cluster.controllers import CONTROLLERS as ALL
from proreus.cluster.controllers import run_controllers
from proreus.cluster.leader_election import Candidacy
from tests.cluster.controllers.stage import Stage, deployment

CONTROLLERS: tuple[str, ...] = ()
TIMING = ElectionTiming(lease_duration_s=15, renew_deadline_s=10, retry_period_s=0.2)


async def test_all_controllers_run_together(stage: Stage) -> None:
    async with background(run_controllers(stage.client, SystemClock())):
        deployments = stage.client.apps_v1.deployments("default")
        await deployments.create(deployment("web", 2))
        await stage.wait(
            deployments, "web", lambda one: one and (one.status or {}).get("availableReplicas") == 2
        )


async def test_of_two_processes_one_leads_and_the_other_follows_it(stage: Stage) -> None:
    some = {name: ALL[name] for name in ("replicaset", "deployment")}
    leases = stage.client.coordination_v1.leases("kube-system")
    deployments = stage.client.apps_v1.deployments("default")
    first, second = (
        run_controllers(
            stage.client, SystemClock(), candidacy=Candidacy(name, TIMING), controllers=some
        )
        for name in ("first", "second")
    )

    async def wait_leads(name: str) -> None:
        await stage.wait(
            leases, "proreus-controllers", lambda it: it and it.spec.holderIdentity == name
        )

    async def wait_available(name: str) -> None:
        await deployments.create(deployment(name, 1))
        await stage.wait(
            deployments, name, lambda one: one and (one.status or {}).get("availableReplicas") == 1
        )

    async with asyncio.TaskGroup() as both:
        leading = both.create_task(first)
        await wait_leads("first")
        following = both.create_task(second)
        await wait_available("web")
        held = await leases.get("proreus-controllers")

        # The first one ends in good order, and the second goes on with the work.
        leading.cancel()
        await wait_leads("second")
        await wait_available("more")
        following.cancel()

    assert held.spec.holderIdentity == "first"
