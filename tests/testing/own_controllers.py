"""Our own controllers as programs under exploration, and the parts of a cluster beside them."""

from __future__ import annotations

from typing import Any

from proreus.client import Client
from proreus.cluster.components import kubelet_component
from proreus.cluster.controller_settings import ControllerSettings
from proreus.cluster.controllers import CONTROLLERS, run_controllers
from proreus.cluster.kubelet.settings import KubeletSettings
from proreus.cluster.scheduler.scheduler import run_scheduler
from proreus.testing.explore import World
from proreus.testing.explore.program import RunProgram

_CALM = KubeletSettings(lease_s=160)  # few heartbeats: they cost time and change nothing


def controllers(*names: str) -> RunProgram:
    chosen = {name: CONTROLLERS[name] for name in names}
    settings = ControllerSettings(use_service_account_credentials=False)

    async def program(client: Client) -> None:
        await run_controllers(client, client.rest.clock, settings=settings, controllers=chosen)

    return program


async def run_pods(world: World) -> None:
    """A node and a scheduler, beside what is explored."""

    async def scheduler(client: Client) -> None:
        await run_scheduler(client, client.rest.clock)

    world.beside(scheduler)
    world.beside(kubelet_component(world.clock, 1, settings=_CALM).run)
    await world.clock.sleep(1)


def template(**spec: Any) -> dict[str, Any]:
    containers = [{"name": "main", "image": "busybox"}]
    return {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": containers, **spec}}


SELECTOR = {"matchLabels": {"app": "web"}}
