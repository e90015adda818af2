"""``proreus scheduler``: the scheduler alone; started twice, one of them works."""

from __future__ import annotations

from pathlib import Path

import click

from proreus.aio.clock import SystemClock
from proreus.cli.candidacy import candidacy_options
from proreus.cli.single_part import kubeconfig_option, run_single_part
from proreus.cluster.components import scheduler_component
from proreus.cluster.leader_election import Candidacy


@click.command()
@kubeconfig_option
@candidacy_options
def scheduler(kubeconfig: Path | None, candidacy: Candidacy | None) -> None:
    """Run the scheduler against any API server."""
    run_single_part(scheduler_component(SystemClock(), candidacy=candidacy), kubeconfig)
