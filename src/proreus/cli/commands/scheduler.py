"""``proreus scheduler``: the scheduler alone."""

from __future__ import annotations

from pathlib import Path

import click

from proreus.aio.clock import SystemClock
from proreus.cli.alone import kubeconfig_option, run_alone
from proreus.cluster.parts import scheduler_part


@click.command()
@kubeconfig_option
def scheduler(kubeconfig: Path | None) -> None:
    """Run the scheduler against any API server."""
    run_alone(scheduler_part(SystemClock()), kubeconfig)
