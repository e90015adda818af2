"""All controllers together, and two processes of which one works."""

from __future__ import annotations

from proreus.aio.clock import SystemClock
from proreus.aio.tasks import background
from proreus.cluster.controllers import CONTROLLERS as ALL
from proreus.cluster.controllers import run_controllers
from proreus.cluster.leading import Candidacy
from tests.cluster.controllers.stage import Stage, deployment

CONTROLLERS: tuple[str, ...] = ()


async def test_all_controllers_run_together(stage: Stage) -> None:
    async with background(run_controllers(stage.client, SystemClock())):
        deployments = stage.client.apps_v1.deployments("default")
        await deployments.create(deployment("web", 2))
        await stage.wait(
            deployments, "web", lambda one: one and (one.status or {}).get("availableReplicas") == 2
        )


async def test_of_two_processes_one_leads_and_the_other_follows_it(stage: Stage) -> None:
    some = {name: ALL[name] for name in ("replicaset", "deployment")}
    leases = stage.client.coordination_k8s_io_v1.leases("kube-system")
    first = run_controllers(
        stage.client, SystemClock(), candidacy=Candidacy("first"), controllers=some
    )
    second = run_controllers(
        stage.client, SystemClock(), candidacy=Candidacy("second"), controllers=some
    )
    async with background(first):
        await stage.wait(
            leases, "proreus-controllers", lambda it: it and it.spec.holderIdentity == "first"
        )
    async with background(second):
        await stage.wait(
            leases, "proreus-controllers", lambda it: it and it.spec.holderIdentity == "second"
        )
        deployments = stage.client.apps_v1.deployments("default")
        await deployments.create(deployment("web", 1))
        await stage.wait(
            deployments, "web", lambda one: one and (one.status or {}).get("availableReplicas") == 1
        )
