"""The cluster of ``proreus up``, but its parts can be struck: a signal each makes them raise.

The blow falls in the middle of the part's work, beside its informers and its workers, as a defect
in one of them would.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable
from dataclasses import replace

import click

from proreus.aio.clock import SystemClock
from proreus.cli.commands.up import run_cluster
from proreus.cli.event_loop import run
from proreus.cli.kubelet_options import kubelet_settings, runtime_option
from proreus.cli.logging import start_logging
from proreus.cli.server_options import server_options
from proreus.client import Client
from proreus.cluster.components import (
    Component,
    controllers_component,
    node_components,
    scheduler_component,
)
from proreus.cluster.controllers import CONTROLLERS, run_controllers
from proreus.cluster.controllers.context import ControllerContext
from proreus.cluster.kubelet.settings import RuntimeName
from proreus.server.config import ServerConfig

CONTROLLER = "controller replicaset"
BLOWS = {
    "controllers": signal.SIGUSR1,
    "scheduler": signal.SIGUSR2,
    "kubelet": signal.SIGHUP,
    CONTROLLER: signal.SIGWINCH,
}


async def _until_struck(name: str, work: Awaitable[None]) -> None:
    struck = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(BLOWS[name], struck.set)

    async def die() -> None:
        await struck.wait()
        raise RuntimeError(f"{name}: struck")

    async with asyncio.TaskGroup() as both:
        both.create_task(die())
        await work


def _mortal(part: Component, work: Callable[[Client], Awaitable[None]] | None = None) -> Component:
    run = work or part.run
    return replace(part, run=lambda client: _until_struck(part.name, run(client)))


class _MortalController:
    def __init__(self, context: ControllerContext) -> None:
        self._part = CONTROLLERS["replicaset"](context)

    async def run(self) -> None:
        await _until_struck(CONTROLLER, self._part.run())


@click.command()
@server_options
@runtime_option
def main(config: ServerConfig, runtime: RuntimeName) -> None:
    assert config.data_dir is not None
    clock, controllers = SystemClock(), {**CONTROLLERS, "replicaset": _MortalController}
    nodes = node_components(clock, 1, settings=kubelet_settings(runtime, 1, config.data_dir))
    parts = [
        _mortal(
            controllers_component(clock),
            lambda to: run_controllers(to, clock, controllers=controllers),
        ),
        _mortal(scheduler_component(clock)),
        _mortal(nodes[0]),
    ]
    start_logging()
    run(run_cluster(config, parts, clock, runtime))


if __name__ == "__main__":
    main()
