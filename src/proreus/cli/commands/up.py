"""``proreus up``: API server, controllers, scheduler and nodes in one process."""

from __future__ import annotations

from collections.abc import Sequence

import click

from proreus.aio.clock import Clock, SystemClock
from proreus.aio.tasks import background
from proreus.cli.controller_options import controller_options
from proreus.cli.event_loop import ending, run
from proreus.cli.failures import told_in_one_line
from proreus.cli.kubelet_options import kubelet_settings, runtime_option
from proreus.cli.logging import log_to_stderr
from proreus.cli.ready import say_ready
from proreus.cli.server_options import server_options
from proreus.client import load_config
from proreus.cluster.controller_settings import ControllerSettings
from proreus.cluster.kubelet.settings import RuntimeName
from proreus.cluster.parts import (
    Part,
    controllers_part,
    kubelet_part,
    run_part,
    scheduler_part,
)
from proreus.server.app import ApiServer
from proreus.server.config import ServerConfig

_PARTS = ("controllers", "scheduler", "kubelet")


def _names(_: click.Context, parameter: click.Parameter, said: str) -> frozenset[str]:
    """Names of parts, with commas between."""
    names = frozenset(filter(None, said.split(",")))
    for unknown in sorted(names - set(_PARTS)):
        wanted = f"{unknown!r} is not one of {', '.join(_PARTS)}"
        raise click.BadParameter(wanted, param=parameter)
    return names


@click.command()
@server_options
@click.option("--nodes", type=click.IntRange(1), default=1, show_default=True)
@runtime_option
@click.option(
    "--without", callback=_names, default="", metavar="PART[,PART]",
    help=f"Leave out some of {', '.join(_PARTS)}.",
)  # fmt: skip
@controller_options
def up(
    config: ServerConfig,
    nodes: int,
    runtime: RuntimeName,
    without: frozenset[str],
    controller_settings: ControllerSettings,
) -> None:
    """Run a whole cluster."""
    assert config.data_dir is not None, "it has a default"
    clock = SystemClock()
    parts = [
        controllers_part(clock, settings=controller_settings),
        scheduler_part(clock),
        kubelet_part(clock, nodes, settings=kubelet_settings(runtime, nodes, config.data_dir)),
    ]
    log_to_stderr()
    with told_in_one_line(config):
        run(run_cluster(config, [part for part in parts if part.name not in without], clock))


async def run_cluster(config: ServerConfig, parts: Sequence[Part], clock: Clock) -> None:
    """Until somebody asks this process to end."""
    asked = ending()
    async with ApiServer(config, clock) as server:
        found = load_config(config.kubeconfig)
        async with background(*(run_part(part, found, clock) for part in parts)):
            say_ready("proreus", server)
            await asked.wait()
