"""A whole cluster in the test's process, of the parts the test asks for.

    async def test_a_deployment(clock):
        async with running_cluster(controllers=["deployment", "replicaset"], clock=clock) as server:
            ...
            await server.settle()

All parts talk to the server over the wire, as they do in production, and share its clock: on a
virtual one ``advance("3h")`` moves them all.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from proreus.aio.clock import Clock
from proreus.aio.tasks import background
from proreus.client.client import Client
from proreus.cluster.components import Component, kubelet_component, run_component
from proreus.cluster.controller_settings import ControllerSettings
from proreus.cluster.kubelet.settings import KubeletSettings
from proreus.cluster.volumes.standard_class import make_standard_class
from proreus.server.config import ServerConfig
from proreus.testing.server import RunningServer, running_server

# Hours of a virtual clock are made of heartbeats, mostly: every 40 s, as often as the controller
# must hear of a node that looks after it, and where there is none every ten minutes.
_WATCHED, _UNWATCHED = KubeletSettings(lease_s=160), KubeletSettings(lease_s=2400)
_WATCHER = "node-lifecycle"

_NO_FOLDER = Path("/var/lib/proreus/volumes")
# Controllers by the names of ``proreus.cluster.controllers``; True: all of them.
Controllers = Sequence[str] | bool


@asynccontextmanager
async def running_cluster(
    config: ServerConfig | None = None,
    clock: Clock | None = None,
    *,
    controllers: Controllers = True,
    scheduler: bool = True,
    nodes: int = 1,
) -> AsyncIterator[RunningServer]:
    """A server with the parts beside it. ``nodes``: simulated ones; 0: no kubelet."""
    async with (
        running_server(config, clock, seldom_rounds=True) as server,
        cluster_parts(server, controllers=controllers, scheduler=scheduler, nodes=nodes),
    ):
        yield server


@asynccontextmanager
async def cluster_parts(
    server: RunningServer,
    *,
    controllers: Controllers = True,
    scheduler: bool = True,
    nodes: int = 1,
) -> AsyncIterator[None]:
    """The parts of a cluster beside a server that runs. Ready when the body begins: all that they
    do by themselves at the start is done. Raises ValueError for a controller that is not known."""
    parts = list(_parts(server.clock, controllers, scheduler=scheduler, nodes=nodes))
    async with AsyncExitStack() as running:
        for part in parts:
            config = server.config()
            await running.enter_async_context(background(run_component(part, config, server.clock)))
        await server.settle()
        yield


def _parts(
    clock: Clock, controllers: Controllers, *, scheduler: bool, nodes: int
) -> Iterable[Component]:
    if controllers:
        from proreus.cluster.controllers import CONTROLLERS, run_controllers

        names = CONTROLLERS if controllers is True else controllers
        if unknown := set(names) - set(CONTROLLERS):
            raise ValueError(f"no such controllers: {', '.join(sorted(unknown))}")
        chosen = {name: CONTROLLERS[name] for name in names}
        # With the rights of who runs them: a chosen few have nobody who makes their accounts.
        # Volumes have names of folders, which simulated nodes do not make.
        settings = ControllerSettings(
            use_service_account_credentials=False, volumes_folder=_NO_FOLDER
        )

        async def run(client: Client) -> None:
            if controllers is True:
                await make_standard_class(client)
            await run_controllers(client, clock, settings=settings, controllers=chosen)

        yield Component("controllers", run)
    if scheduler:
        from proreus.cluster.scheduler.scheduler import run_scheduler

        async def schedule(client: Client) -> None:
            await run_scheduler(client, clock)

        yield Component("scheduler", schedule)
    if nodes:
        is_watched = controllers is True or (controllers and _WATCHER in controllers)
        beat = _WATCHED if is_watched else _UNWATCHED
        yield kubelet_component(clock, nodes, settings=beat)
