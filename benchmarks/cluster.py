"""A whole cluster: 5,000 pods on 500 simulated nodes, in one process and with each part alone.

The clock runs from the creation of the Deployments until every replica is available. Alone, each
part's CPU is its process's, which says where the time goes; in one process (``proreus up``) the
parts share one core.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks._process import cpu_s
from benchmarks.report import Row
from proreus.client import Client, ClientConfig, KubeObject, load_config

_NODES, _PODS, _DEPLOYMENTS = 500, 5_000, 10
_PARTS = ("server", "controllers", "scheduler", "kubelet")


def run() -> list[Row]:
    return [*asyncio.run(_in_one_process()), *asyncio.run(_in_parts())]


async def _in_one_process() -> list[Row]:
    with (
        tempfile.TemporaryDirectory() as folder,
        _started("up", "--data-dir", folder, "--port", "0", "--nodes", str(_NODES)) as process,
    ):
        spent = await _roll_out(load_config(Path(folder) / "kubeconfig"), {"up": process})
    what = f"{_PODS:,} pods on {_NODES} nodes"
    return [
        Row(f"{what} available, proreus up", spent.wall_s, "s", 90),
        Row(f"{what}, proreus up: CPU per pod", spent.cpu_s["up"] / _PODS * 1e3, "ms"),
    ]


async def _in_parts() -> list[Row]:
    with (
        tempfile.TemporaryDirectory() as folder,
        _started("server", "--data-dir", folder, "--port", "0") as server,
    ):
        kubeconfig = Path(folder) / "kubeconfig"
        flags = ("--kubeconfig", str(kubeconfig))
        with (
            _started("controllers", *flags, "--no-leader-elect") as controllers,
            _started("scheduler", *flags, "--no-leader-elect") as scheduler,
            _started("kubelet", *flags, "--nodes", str(_NODES)) as kubelet,
        ):
            processes = dict(zip(_PARTS, (server, controllers, scheduler, kubelet), strict=True))
            spent = await _roll_out(load_config(kubeconfig), processes)
    what = f"{_PODS:,} pods on {_NODES} nodes"
    return [
        Row(f"{what} available, a process per part", spent.wall_s, "s", 90),
        *(
            Row(f"{what}: CPU per pod of the {part}", spent.cpu_s[part] / _PODS * 1e3, "ms")
            for part in _PARTS
        ),
    ]


@dataclass(frozen=True, slots=True)
class _Spent:
    wall_s: float
    cpu_s: dict[str, float]


async def _roll_out(config: ClientConfig, processes: dict[str, subprocess.Popen[str]]) -> _Spent:
    async with Client(replace(config, rate_limit=None)) as client:
        await _wait_nodes(client)
        before = {name: cpu_s(process.pid) for name, process in processes.items()}
        began = time.perf_counter()
        deployments = client.apps_v1.deployments("default")
        for number in range(_DEPLOYMENTS):
            await deployments.create(_deployment(f"web-{number}"))
        for number in range(_DEPLOYMENTS):
            await deployments.wait_for(f"web-{number}", _is_available, timeout_s=900)
        wall_s = time.perf_counter() - began
        spent = {name: cpu_s(process.pid) - before[name] for name, process in processes.items()}
        return _Spent(wall_s, spent)


async def _wait_nodes(client: Client) -> None:
    """All are there, ready and open for pods."""
    for number in range(1, _NODES + 1):
        await client.core_v1.nodes.wait_for(
            f"node-{number}",
            lambda node: node is not None and not node.spec.taints,
            timeout_s=300,
        )


def _is_available(found: KubeObject | None) -> bool:
    status = (found.get("status") or {}) if found is not None else {}
    return bool(status.get("availableReplicas") == _PODS // _DEPLOYMENTS)


@contextmanager
def _started(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-m", "proreus.cli.main", *arguments], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        process.stdout.readline()  # ready
        yield process
    finally:
        process.terminate()
        process.wait(60)


def _deployment(name: str) -> dict[str, Any]:
    labels = {"app": name}
    requests = {"cpu": "100m", "memory": "64Mi"}
    container = {"name": "main", "image": "web:1", "resources": {"requests": requests}}
    return {
        "metadata": {"name": name},
        "spec": {
            "replicas": _PODS // _DEPLOYMENTS,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    }
