"""``proreus kubelet``: nodes alone."""

from __future__ import annotations

from pathlib import Path

import click

from proreus.aio.clock import SystemClock
from proreus.cli.alone import kubeconfig_option, run_alone
from proreus.cluster.parts import RUNTIMES, kubelet_part


@click.command()
@kubeconfig_option
@click.option("--nodes", type=click.IntRange(1), default=1, show_default=True)
@click.option("--name-prefix", default="node", show_default=True, help="Nodes are PREFIX-1, …")
@click.option("--runtime", type=click.Choice(RUNTIMES), default=RUNTIMES[0], show_default=True)
def kubelet(kubeconfig: Path | None, nodes: int, name_prefix: str, runtime: str) -> None:
    """Run nodes against any API server."""
    assert runtime in RUNTIMES
    run_alone(kubelet_part(SystemClock(), nodes, name_prefix=name_prefix), kubeconfig)
