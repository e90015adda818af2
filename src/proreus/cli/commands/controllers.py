"""``proreus controllers``: the controllers alone; started twice, one of them works."""

from __future__ import annotations

from pathlib import Path

import click

from proreus.aio.clock import SystemClock
from proreus.cli.alone import kubeconfig_option, run_alone
from proreus.cluster.parts import controllers_part


@click.command()
@kubeconfig_option
@click.option(
    "--leader-elect/--no-leader-elect",
    default=True,
    show_default=True,
    help="Work only while holding the lease.",
)
def controllers(kubeconfig: Path | None, leader_elect: bool) -> None:
    """Run the controllers against any API server."""
    run_alone(controllers_part(SystemClock(), leader_election=leader_elect), kubeconfig)
