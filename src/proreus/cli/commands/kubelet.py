"""``proreus kubelet``: nodes alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from proreus.aio.clock import SystemClock
from proreus.cli.annotations import described_annotations
from proreus.cli.kubelet_options import kubelet_settings, missing_image_option, runtime_option
from proreus.cli.options import data_dir_option
from proreus.cli.single_part import kubeconfig_option, run_single_part
from proreus.cluster.components import kubelet_component
from proreus.cluster.kubelet.settings import RuntimeName


@click.command(epilog=described_annotations())
@kubeconfig_option
@click.option(
    "--nodes", type=click.IntRange(1), default=1, show_default=True, help="How many nodes."
)
@click.option("--name-prefix", default="node", show_default=True, help="Nodes are PREFIX-1, …")
@runtime_option
@missing_image_option
@data_dir_option("Keys and, with --runtime process, pods are kept here.")
@click.option(
    "--address",
    default="127.0.0.1",
    show_default=True,
    help="Where the API server reaches this kubelet, for logs and commands.",
)
@click.option(
    "--node-lease-duration-seconds",
    type=click.IntRange(1),
    default=40,
    show_default=True,
    help="Renewed four times while it lasts.",
)
def kubelet(
    kubeconfig: Path | None,
    nodes: int,
    name_prefix: str,
    runtime: RuntimeName,
    missing_images: tuple[str, ...],
    data_dir: Path,
    address: str,
    node_lease_duration_seconds: int,
) -> None:
    """Run nodes against any API server."""
    settings = replace(
        kubelet_settings(runtime, nodes, data_dir, missing_images),
        host=address,
        lease_s=node_lease_duration_seconds,
    )
    part = kubelet_component(SystemClock(), nodes, name_prefix=name_prefix, settings=settings)
    run_single_part(part, kubeconfig)
