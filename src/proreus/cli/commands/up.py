"""``proreus up``: API server, controllers, scheduler and nodes; of a large cluster in several
processes, whose owner is that of the server."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import click

from proreus.aio.clock import Clock, SystemClock
from proreus.aio.tasks import background
from proreus.api.json_types import JsonObject
from proreus.api.status import AlreadyExists
from proreus.cli.annotations import described_annotations
from proreus.cli.controller_options import controller_options
from proreus.cli.dashboard_mount import dashboard_pages, served_dashboard
from proreus.cli.ending import ending
from proreus.cli.event_loop import run
from proreus.cli.failures import reported_in_one_line
from proreus.cli.kubelet_options import kubelet_settings, missing_image_option, runtime_option
from proreus.cli.logging import start_logging
from proreus.cli.part_identities import PartIdentities
from proreus.cli.part_process import run_part
from proreus.cli.part_processes import keep_part_process
from proreus.cli.parts_order import (
    CONTROLLERS,
    KUBELET,
    PARTS,
    PROCESSES_MAX,
    PartsOrder,
    divided,
    processes_for,
    usable_cores,
)
from proreus.cli.ready import Announcement, say_ready
from proreus.cli.server_options import server_options
from proreus.client import Client, ClientConfig, load_config
from proreus.cluster.components import Component
from proreus.cluster.controller_settings import ControllerSettings
from proreus.cluster.kubelet.settings import RuntimeName
from proreus.cluster.volumes.standard_class import make_standard_class, volumes_folder
from proreus.net.tls.certificate_authority import CertificateAuthority
from proreus.net.tls.certificates import authority_files
from proreus.server.app import ApiServer
from proreus.server.config import ServerConfig
from proreus.server.credentials import tls_folder

_REPORTERS = "proreus:client-reports"
_REPORTING_ROLE: JsonObject = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "ClusterRole",
    "metadata": {"name": _REPORTERS},
    "rules": [{"nonResourceURLs": ["/debug/listwatch/clients"], "verbs": ["post"]}],
}
_REPORTING_BINDING: JsonObject = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "ClusterRoleBinding",
    "metadata": {"name": _REPORTERS},
    "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": _REPORTERS},
    "subjects": [
        {"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "system:authenticated"}
    ],
}


def _names(_: click.Context, parameter: click.Parameter, text: str) -> frozenset[str]:
    """Names of parts, with commas between."""
    names = frozenset(filter(None, text.split(",")))
    for unknown in sorted(names - set(PARTS)):
        wanted = f"{unknown!r} is not one of {', '.join(PARTS)}"
        raise click.BadParameter(wanted, param=parameter)
    return names


@click.command(epilog=described_annotations())
@server_options
@click.option(
    "--nodes", type=click.IntRange(1), default=1, show_default=True, help="How many nodes."
)
@runtime_option
@missing_image_option
@click.option(
    "--without", callback=_names, default="", metavar="PART[,PART]",
    help=f"Leave out some of {', '.join(PARTS)}.",
)  # fmt: skip
@click.option(
    "--processes", type=click.IntRange(1, PROCESSES_MAX), default=None,
    help="How many processes the cluster is: 1, or the server in one and the parts in the others. "
    "Default: 1, with 5 nodes or more and several cores 3.",
)  # fmt: skip
@click.option(
    "--dashboard/--no-dashboard", "has_dashboard", default=True, show_default=True,
    help="Serve the dashboard at /dashboard/ and print a link that logs in once.",
)  # fmt: skip
@controller_options
def up(
    config: ServerConfig,
    nodes: int,
    runtime: RuntimeName,
    missing_images: tuple[str, ...],
    without: frozenset[str],
    processes: int | None,
    has_dashboard: bool,
    controller_settings: ControllerSettings,
) -> None:
    """Run a whole cluster."""
    assert config.data_dir is not None, "it has a default"
    clock = SystemClock()
    authority = authority_files(tls_folder(config.data_dir))
    here = PartsOrder(
        names=tuple(part for part in PARTS if part not in without),
        data_dir=config.data_dir,
        nodes=nodes,
        kubelet=kubelet_settings(runtime, nodes, config.data_dir, missing_images),
        controllers=replace(
            controller_settings,
            cluster_signing=authority,
            volumes_folder=volumes_folder(config.data_dir.absolute()),
        ),
        reports_activity=has_dashboard,
    )
    count = processes or processes_for(nodes, usable_cores())
    elsewhere = [replace(here, names=names) for names in divided(here.names, count)]
    parts = [] if elsewhere else here.components(clock)
    with reported_in_one_line(config):
        start_logging(config.data_dir)
        run(run_cluster(config, parts, clock, runtime, elsewhere, has_dashboard=has_dashboard))


async def run_cluster(
    config: ServerConfig,
    parts: Sequence[Component],
    clock: Clock,
    runtime: RuntimeName,
    elsewhere: Sequence[PartsOrder] = (),
    *,
    has_dashboard: bool = False,
) -> None:
    """Until somebody asks this process to end. ``elsewhere``: parts in processes of their own."""
    # What a controller of the cluster does elsewhere needs what only the server knows.
    config = replace(config, admission=replace(config.admission, checks_policy_types=True))
    async with ending() as asked, ApiServer(config, clock) as server:
        assert config.data_dir is not None, "it has a default"
        authority = CertificateAuthority.of(tls_folder(config.data_dir))
        identities = PartIdentities(server.url, authority)
        if has_dashboard:
            await _let_parts_report(load_config(config.kubeconfig))
        running = (
            *(run_part(part, identities, clock, has_dashboard) for part in parts),
            *(keep_part_process(replace(one, url=server.url), clock) for one in elsewhere),
        )
        names = [*(part.name for part in parts), *(name for one in elsewhere for name in one.names)]
        nodes = names.count(KUBELET) if parts else sum(one.node_count() for one in elsewhere)
        async with background(*running):
            if CONTROLLERS in names:
                await _make_first_objects(load_config(config.kubeconfig), config.data_dir)
            await server.wait_ready()
            ready = _ready(server, nodes, runtime)
            if not has_dashboard:
                await say_ready(ready)
                await asked.wait()
                return
            async with served_dashboard(server, clock) as dashboard:
                await say_ready(replace(ready, pages=await dashboard_pages(server, dashboard)))
                await asked.wait()


def _ready(server: ApiServer, nodes: int, runtime: RuntimeName) -> Announcement:
    return Announcement(
        "proreus",
        server.url,
        kubeconfig=server.config.kubeconfig,
        data_dir=server.config.data_dir,
        nodes=nodes,
        runtime=runtime,
    )


async def _make_first_objects(found: ClientConfig, data_dir: Path) -> None:
    """Controllers make the accounts that pods need; this one is needed as soon as we are ready, and
    so is the class of volumes. That is made once: a user who deletes it wants none."""
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}
    folder = volumes_folder(data_dir)
    async with Client(found) as client:
        with suppress(AlreadyExists):
            await client.core_v1.serviceaccounts("default").create(account)
        if not folder.exists():
            await make_standard_class(client)
            folder.mkdir(mode=0o700)


async def _let_parts_report(found: ClientConfig) -> None:
    """To the debug pages, what their informers and controllers do (docs/debug.md)."""
    async with Client(found) as client:
        for resource, made in (
            (client.rbac_v1.clusterroles, _REPORTING_ROLE),
            (client.rbac_v1.clusterrolebindings, _REPORTING_BINDING),
        ):
            with suppress(AlreadyExists):
                await resource.create(made)
