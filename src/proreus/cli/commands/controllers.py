"""``proreus controllers``: the controllers alone; started twice, one of them works."""

from __future__ import annotations

from pathlib import Path

import click

from proreus.aio.clock import SystemClock
from proreus.cli.alone import kubeconfig_option, run_alone
from proreus.cli.candidacy import candidacy_options
from proreus.cluster.leading import Candidacy
from proreus.cluster.parts import controllers_part


@click.command()
@kubeconfig_option
@candidacy_options
def controllers(kubeconfig: Path | None, candidacy: Candidacy | None) -> None:
    """Run the controllers against any API server."""
    run_alone(controllers_part(SystemClock(), candidacy=candidacy), kubeconfig)
