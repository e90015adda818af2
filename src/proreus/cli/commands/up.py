"""``proreus up``: API server, controllers, scheduler and nodes in one process."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from proreus.aio.clock import Clock, SystemClock
from proreus.aio.tasks import background
from proreus.cli.event_loop import ending, run
from proreus.cli.kubelet_options import kubelet_settings, runtime_option
from proreus.cli.logging import log_to_stderr
from proreus.client import load_config
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
from proreus.server.storage.interface import StorageError

_DATA_DIR = Path(".proreus")
_PARTS = ("controllers", "scheduler", "kubelet")


def _names(_: click.Context, parameter: click.Parameter, said: str) -> frozenset[str]:
    """Names of parts, with commas between."""
    names = frozenset(filter(None, said.split(",")))
    for unknown in sorted(names - set(_PARTS)):
        wanted = f"{unknown!r} is not one of {', '.join(_PARTS)}"
        raise click.BadParameter(wanted, param=parameter)
    return names


@click.command()
@click.option(
    "--data-dir",
    type=click.Path(path_type=Path, file_okay=False),
    default=_DATA_DIR,
    show_default=True,
    help="Objects, keys and the kubeconfig are kept here.",
)
@click.option("--bind-address", default="127.0.0.1", show_default=True)
@click.option("--port", default=6443, show_default=True, help="0 takes a free one.")
@click.option("--etcd", default="", metavar="URL[,URL]", help="Keep objects in etcd instead.")
@click.option("--nodes", type=click.IntRange(1), default=1, show_default=True)
@runtime_option
@click.option(
    "--without", callback=_names, default="", metavar="PART[,PART]",
    help=f"Leave out some of {', '.join(_PARTS)}.",
)  # fmt: skip
@click.option(
    "--kubeconfig",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Where to write it; default: in the data folder.",
)
def up(
    data_dir: Path,
    bind_address: str,
    port: int,
    etcd: str,
    nodes: int,
    runtime: RuntimeName,
    without: frozenset[str],
    kubeconfig: Path | None,
) -> None:
    """Run a whole cluster."""
    settings = kubelet_settings(runtime, nodes, data_dir)
    try:
        config = ServerConfig(
            data_dir=data_dir,
            bind_address=bind_address,
            port=port,
            tls=True,
            etcd=tuple(filter(None, etcd.split(","))),
            kubeconfig=(kubeconfig or data_dir / "kubeconfig").absolute(),
        )
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    clock = SystemClock()
    kubelet = kubelet_part(clock, nodes, settings=settings)
    parts = [controllers_part(clock), scheduler_part(clock), kubelet]
    log_to_stderr()
    try:
        run(_run(config, [part for part in parts if part.name not in without], clock))
    except (StorageError, OSError) as error:
        raise click.ClickException(str(error)) from error


async def _run(config: ServerConfig, parts: list[Part], clock: Clock) -> None:
    asked = ending()
    async with ApiServer(config, clock) as server:
        found = load_config(config.kubeconfig)
        async with background(*(run_part(part, found, clock) for part in parts)):
            click.echo(f"proreus is ready at {server.url}")
            click.echo(f"kubeconfig: {config.kubeconfig}")
            click.echo(f"export KUBECONFIG={config.kubeconfig}")
            sys.stdout.flush()
            await asked.wait()
