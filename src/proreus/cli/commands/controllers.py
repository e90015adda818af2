"""``proreus controllers``: the controllers alone; started twice, one of them works."""

from __future__ import annotations

from pathlib import Path

import click

from proreus.aio.clock import SystemClock
from proreus.cli.alone import kubeconfig_option, run_alone
from proreus.cli.candidacy import candidacy_options
from proreus.cli.controller_options import controller_options
from proreus.cluster.controller_settings import ControllerSettings
from proreus.cluster.leading import Candidacy
from proreus.cluster.parts import controllers_part


@click.command()
@kubeconfig_option
@controller_options
@candidacy_options
def controllers(
    kubeconfig: Path | None, controller_settings: ControllerSettings, candidacy: Candidacy | None
) -> None:
    """Run the controllers against any API server."""
    part = controllers_part(SystemClock(), settings=controller_settings, candidacy=candidacy)
    run_alone(part, kubeconfig)
