"""How many plans does an exploration run per second of CPU?

One small operator of one's own, and our Deployment controllers with a scheduler and a node beside
them. The best of a few rounds counts: others use the machine too.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from benchmarks.report import CpuTimer, Row
from proreus.api.object import KubeObject
from proreus.client import Client
from proreus.client.operator import Operator, Reconciliation
from proreus.cluster.components import kubelet_component
from proreus.cluster.controller_settings import ControllerSettings
from proreus.cluster.controllers import CONTROLLERS, run_controllers
from proreus.cluster.kubelet.settings import KubeletSettings
from proreus.cluster.scheduler.scheduler import run_scheduler
from proreus.testing.explore import Settings, World
from proreus.testing.explore.exploration import exploring
from proreus.testing.explore.virtual_loop import VirtualLoop

ROUNDS = 5
PLANS = 40
SELECTOR = {"matchLabels": {"app": "web"}}


async def small_operator(client: Client) -> None:
    operator = Operator(
        "mirror", client=client, leader_election=None, address="", clock=client.rest.clock
    )

    @operator.reconciler("configmaps", owns=["secrets"], namespace="default")
    async def reconcile(found: Reconciliation[KubeObject]) -> None:
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": found.name}}
        await found.own({**secret, "stringData": {"x": found.object["data"]["x"]}})

    await operator


async def one_operator(world: World) -> None:
    world.run(small_operator)
    maps = world.client.core_v1.configmaps("default")
    await maps.create({"metadata": {"name": "a"}, "data": {"x": "1"}})
    await world.settle()
    await maps.patch("a", {"data": {"x": "2"}})
    await world.settle()


async def whole_cluster(world: World) -> None:
    async def scheduler(client: Client) -> None:
        await run_scheduler(client, client.rest.clock)

    async def controllers(client: Client) -> None:
        chosen = {name: CONTROLLERS[name] for name in ("deployment", "replicaset")}
        settings = ControllerSettings(use_service_account_credentials=False)
        await run_controllers(client, client.rest.clock, settings=settings, controllers=chosen)

    world.beside(scheduler)
    world.beside(kubelet_component(world.clock, 1, settings=KubeletSettings(lease_s=160)).run)
    world.run(controllers)
    containers = [{"name": "main", "image": "busybox"}]
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": containers}}
    spec: dict[str, Any] = {"replicas": 2, "selector": SELECTOR, "template": template}
    deployments = world.client.apps_v1.deployments("default")
    await deployments.create({"metadata": {"name": "web"}, "spec": spec})
    await world.settle()
    await deployments.patch("web", {"spec": {"replicas": 1}})
    await world.settle()


async def plans_per_s(test: Callable[[World], Awaitable[None]]) -> float:
    best = 0.0
    async with exploring(test, Settings()) as exploration:
        learned = await exploration.learn()
        step = max(1, len(learned.plans) // PLANS)
        chosen = learned.plans[::step]
        for _ in range(ROUNDS):
            with CpuTimer() as timer:
                for plan in chosen:
                    run = await exploration.run(plan)
                    assert exploration.found(plan, run, learned) is None, str(plan)
            best = max(best, len(chosen) / timer.cpu_s)
    return best


def run() -> list[Row]:
    logging.disable(logging.ERROR)  # what goes wrong is planned
    rows = []
    for name, test, target in (
        ("plans: a small operator", one_operator, 50.0),
        ("plans: Deployment, ReplicaSet, scheduler and a node", whole_cluster, 5.0),
    ):
        with asyncio.Runner(loop_factory=VirtualLoop) as runner:
            value = runner.run(plans_per_s(test))
        rows.append(Row(name, value, "per s of CPU", target, higher_is_better=True))
    return rows
