"""``proreus scheduler``: the scheduler alone; started twice, one of them works."""

from __future__ import annotations

from pathlib import Path

import click

from proreus.aio.clock import SystemClock
from proreus.cli.alone import kubeconfig_option, run_alone
from proreus.cli.candidacy import candidacy_options
from proreus.cluster.leading import Candidacy
from proreus.cluster.parts import scheduler_part


@click.command()
@kubeconfig_option
@candidacy_options
def scheduler(kubeconfig: Path | None, candidacy: Candidacy | None) -> None:
    """Run the scheduler against any API server."""
    run_alone(scheduler_part(SystemClock(), candidacy=candidacy), kubeconfig)
