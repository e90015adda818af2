"""``proreus status``: whether the cluster of a data folder runs, and how its nodes and pods do."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import click

from proreus.api.object import KubeObject
from proreus.api.status import ApiError
from proreus.cli.cluster_config import cluster_config, kubeconfig_option
from proreus.cli.options import data_dir_option
from proreus.cli.ready import say
from proreus.client import Client, ClientConfig
from proreus.client.rest.request import RestRequest
from proreus.client.rest.retry import RetryPolicy
from proreus.lazy_dataclass import dataclass
from proreus.net.client.transport_error import TransportError

_PATIENCE_S = 10.0
_NOT_RUNNING = 1


@dataclass(frozen=True, slots=True)
class ClusterStatus:
    """``failing``: health checks of the server that do not hold."""

    host: str
    version: str
    failing: tuple[str, ...]
    nodes: tuple[KubeObject, ...]
    pods: tuple[KubeObject, ...]

    def lines(self) -> list[str]:
        state = "is ready" if not self.failing else f"is not ready ({', '.join(self.failing)})"
        ready = sum(map(_is_ready, self.nodes))
        return [
            f"server: {self.host} {state}, {self.version}",
            f"nodes: {ready} of {len(self.nodes)} ready",
            f"pods: {_counted((pod.get('status') or {}).get('phase') for pod in self.pods)}",
        ]


@click.command()
@data_dir_option("Of the cluster.")
@kubeconfig_option
def status(data_dir: Path, file: Path | None) -> None:
    """Say how the cluster of a data folder does.

    Ends with 0 if its server is ready, else with 1.
    """
    config = cluster_config(data_dir, file)
    try:
        found = asyncio.run(_asked(config))
    except ApiError as error:
        raise click.ClickException(f"the server refused: {error.message}") from error
    except (TransportError, TimeoutError):
        say(f"server: {config.host} is not running; `proreus up` starts it")
        raise click.exceptions.Exit(_NOT_RUNNING) from None
    say(*found.lines(), f"data: {data_dir.absolute()}")
    if found.failing:
        raise click.exceptions.Exit(_NOT_RUNNING)


async def _asked(config: ClientConfig) -> ClusterStatus:
    async with (
        asyncio.timeout(_PATIENCE_S),
        Client(config, retry=RetryPolicy(retries_max=0)) as client,
    ):
        failing = await _failing(client)
        version = await client.rest.get_json(RestRequest("get", "GET", "/version"))
        nodes = await client.core_v1.nodes.list()
        pods = await client.core_v1.pods.in_all_namespaces().list()
    return ClusterStatus(
        config.host, str(version["gitVersion"]), failing, tuple(nodes), tuple(pods)
    )


async def _failing(client: Client) -> tuple[str, ...]:
    try:
        await client.rest.send(RestRequest("get", "GET", "/readyz", (("verbose", ""),)))
    except ApiError as error:
        failed = re.findall(r"^\[-\](\S+)", error.message, re.MULTILINE)
        return tuple(failed) or (error.message,)
    return ()


def _is_ready(node: KubeObject) -> bool:
    conditions = (node.get("status") or {}).get("conditions") or ()
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


def _counted(phases: Iterable[str | None]) -> str:
    counts = Counter(phase or "Unknown" for phase in phases)
    parts = [f"{count} {phase.lower()}" for phase, count in sorted(counts.items())]
    return ", ".join(parts) or "none"
