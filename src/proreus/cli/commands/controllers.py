"""``proreus controllers``: the controllers alone; started twice, one of them works."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from proreus.aio.clock import SystemClock
from proreus.cli.candidacy import candidacy_options
from proreus.cli.controller_options import controller_options
from proreus.cli.single_part import kubeconfig_option, run_single_part
from proreus.cluster.components import controllers_component
from proreus.cluster.controller_settings import ControllerSettings
from proreus.cluster.leader_election import Candidacy
from proreus.net.tls.key_pairs import PairFiles

_EXISTING = click.Path(path_type=Path, dir_okay=False, exists=True)


@click.command()
@kubeconfig_option
@controller_options
@click.option(
    "--cluster-signing-cert-file", "certificate", type=_EXISTING,
    help="Of the authority that signs approved requests for certificates.",
)  # fmt: skip
@click.option("--cluster-signing-key-file", "key", type=_EXISTING, help="Its private key.")
@candidacy_options
def controllers(
    kubeconfig: Path | None,
    controller_settings: ControllerSettings,
    certificate: Path | None,
    key: Path | None,
    candidacy: Candidacy | None,
) -> None:
    """Run the controllers against any API server."""
    settings = replace(controller_settings, cluster_signing=_authority(certificate, key))
    part = controllers_component(SystemClock(), settings=settings, candidacy=candidacy)
    run_single_part(part, kubeconfig)


def _authority(certificate: Path | None, key: Path | None) -> PairFiles | None:
    if certificate is not None and key is not None:
        return PairFiles(certificate, key)
    if certificate is None and key is None:
        return None
    raise click.UsageError(
        "--cluster-signing-cert-file and --cluster-signing-key-file belong together; give both"
    )
