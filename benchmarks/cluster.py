"""A whole cluster: 5,000 pods on 500 simulated nodes, by ``proreus up`` and with each part alone;
1,000 pods on 100 nodes, their rolling update, and what 100 nodes cost while nothing happens.

The clock runs from the creation of the Deployments until every replica is available. Alone, each
part's CPU is its process's, which says where the time goes; that of ``proreus up`` is the sum over
its processes. Where Kubernetes' own binaries are given, theirs do what 5 nodes ask of ours.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks._peers import Peers
from benchmarks._peers.control_plane import ControlPlane, running_control_plane
from benchmarks._process import children_of, cpu_s
from benchmarks.report import Row
from proreus.client import Client, ClientConfig, KubeObject, load_config
from tests.real_etcd import started_etcd

_PARTS = ("server", "controllers", "scheduler", "kubelet")
_IDLE_S, _SETTLES_S = 30.0, 15.0


@dataclass(frozen=True, slots=True)
class _Size:
    nodes: int
    pods: int
    deployments: int = 1

    def __str__(self) -> str:
        return f"{self.pods:,} pods on {self.nodes} nodes"

    @property
    def replicas(self) -> int:
        return self.pods // self.deployments


@dataclass(frozen=True, slots=True)
class _Spent:
    wall_s: float
    cpu_s: dict[str, float]

    @property
    def all_cpu_s(self) -> float:
        return sum(self.cpu_s.values())


_SMALL, _MIDDLE, _LARGE = _Size(5, 500), _Size(100, 1_000), _Size(500, 5_000, 10)


def run() -> list[Row]:
    return [
        *asyncio.run(_middle()),
        *asyncio.run(_small()),
        *asyncio.run(_large()),
        *asyncio.run(_in_parts()),
    ]


def run_peers(peers: Peers) -> list[Row]:
    """Kubernetes' server, controllers and scheduler; without what its etcd takes."""
    if None in (peers.kube_apiserver, peers.kube_controller_manager, peers.kube_scheduler):
        return []
    with (
        tempfile.TemporaryDirectory() as folder,
        started_etcd(fsync=True) as etcd,
        running_control_plane(peers, etcd.endpoints[0], Path(folder)) as plane,
        _started(
            "kubelet", "--kubeconfig", str(plane.kubeconfig), "--nodes", str(_SMALL.nodes)
        ) as kubelet,
    ):
        rows = asyncio.run(_control_plane_rows(plane, kubelet.pid))
    return [replace(row, target=None, peer="Kubernetes") for row in rows]


async def _control_plane_rows(plane: ControlPlane, kubelet: int) -> list[Row]:
    async with _client(load_config(plane.kubeconfig)) as client:
        cluster = _Cluster(client, _SMALL, {**plane.pids, "kubelet": kubelet})
        await cluster.wait_nodes()
        return await _small_rows(cluster)


async def _middle() -> list[Row]:
    async with _up(_MIDDLE) as cluster:
        await asyncio.sleep(_SETTLES_S)
        idle = await cluster.spent_by(asyncio.sleep(_IDLE_S))
        made = await cluster.spent_by(cluster.roll_out())
        updated = await cluster.spent_by(cluster.update())
    share = idle.all_cpu_s / idle.wall_s * 100
    return [
        Row(f"{_MIDDLE} available, proreus up", made.wall_s, "s", 2.5),
        Row(f"{_MIDDLE}, proreus up: CPU per pod", made.all_cpu_s / _MIDDLE.pods * 1e3, "ms"),
        Row(f"{_MIDDLE}: rolling update", updated.wall_s, "s", 6),
        Row(f"{_MIDDLE.nodes} nodes while nothing happens: share of a core", share, "%", 3),
    ]


async def _small() -> list[Row]:
    async with _up(_SMALL) as cluster:
        return await _small_rows(cluster)


async def _small_rows(cluster: _Cluster) -> list[Row]:
    made = await cluster.spent_by(cluster.roll_out())
    updated = await cluster.spent_by(cluster.update())
    return [
        Row(f"{_SMALL} available", made.wall_s, "s", 1.44),
        Row(f"{_SMALL}: CPU", made.all_cpu_s, "s", 3.06),
        Row(f"{_SMALL}: rolling update", updated.wall_s, "s", 4.5),
        Row(f"{_SMALL}: rolling update, CPU", updated.all_cpu_s, "s"),
    ]


async def _large() -> list[Row]:
    async with _up(_LARGE) as cluster:
        made = await cluster.spent_by(cluster.roll_out())
    return [
        Row(f"{_LARGE} available, proreus up", made.wall_s, "s", 14),
        Row(f"{_LARGE}, proreus up: CPU per pod", made.all_cpu_s / _LARGE.pods * 1e3, "ms"),
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
            _started("kubelet", *flags, "--nodes", str(_MIDDLE.nodes)) as kubelet,
        ):
            started = (server, controllers, scheduler, kubelet)
            pids = {part: one.pid for part, one in zip(_PARTS, started, strict=True)}
            async with _client(load_config(kubeconfig)) as client:
                cluster = _Cluster(client, _MIDDLE, pids)
                await cluster.wait_nodes()
                spent = await cluster.spent_by(cluster.roll_out())
    return [
        Row(f"{_MIDDLE} available, a process per part", spent.wall_s, "s"),
        *(
            Row(f"{_MIDDLE}: CPU per pod of the {part}", cpu / _MIDDLE.pods * 1e3, "ms", 1.2)
            for part, cpu in spent.cpu_s.items()
        ),
    ]


@dataclass(frozen=True, slots=True)
class _Cluster:
    client: Client
    size: _Size
    pids: dict[str, int]

    async def wait_nodes(self) -> None:
        """All are there, ready and open for pods."""
        for number in range(1, self.size.nodes + 1):
            await self.client.core_v1.nodes.wait_for(
                f"node-{number}",
                lambda node: node is not None and not node.spec.taints,
                timeout_s=300,
            )

    async def spent_by(self, work: Awaitable[None]) -> _Spent:
        before, began = {name: cpu_s(pid) for name, pid in self.pids.items()}, time.perf_counter()
        await work
        wall_s = time.perf_counter() - began
        return _Spent(wall_s, {name: cpu_s(pid) - before[name] for name, pid in self.pids.items()})

    async def roll_out(self) -> None:
        deployments = self.client.apps_v1.deployments("default")
        for number in range(self.size.deployments):
            await deployments.create(_deployment(f"web-{number}", self.size.replicas))
        await self._wait_rolled_out()

    async def update(self) -> None:
        """Another image for all pods, as ``kubectl set image`` asks for it."""
        template = {"spec": {"containers": [{"name": "main", "image": "web:2"}]}}
        for number in range(self.size.deployments):
            await self.client.apps_v1.deployments("default").patch(
                f"web-{number}", {"spec": {"template": template}}, type="strategic"
            )
        await self._wait_rolled_out()

    async def _wait_rolled_out(self) -> None:
        def is_rolled_out(found: KubeObject | None) -> bool:
            if found is None or found.status is None:
                return False
            counts = ("replicas", "updatedReplicas", "availableReplicas")
            is_observed = found.status.observedGeneration == found.metadata.generation
            wanted = self.size.replicas
            return is_observed and all(found.status.get(count) == wanted for count in counts)

        deployments = self.client.apps_v1.deployments("default")
        for number in range(self.size.deployments):
            await deployments.wait_for(f"web-{number}", is_rolled_out, timeout_s=900)


@asynccontextmanager
async def _up(size: _Size) -> AsyncIterator[_Cluster]:
    """``proreus up``, with all of its processes, once its nodes are ready."""
    with (
        tempfile.TemporaryDirectory() as folder,
        _started("up", "--data-dir", folder, "--port", "0", "--nodes", str(size.nodes)) as process,
    ):
        async with _client(load_config(Path(folder) / "kubeconfig")) as client:
            cluster = _Cluster(client, size, {"up": process.pid})
            await cluster.wait_nodes()
            for pid in children_of(process.pid):
                cluster.pids[f"up's {pid}"] = pid
            yield cluster


def _client(config: ClientConfig) -> Client:
    return Client(replace(config, rate_limit=None))


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


def _deployment(name: str, replicas: int) -> dict[str, Any]:
    labels = {"app": name}
    requests = {"cpu": "100m", "memory": "64Mi"}
    container = {"name": "main", "image": "web:1", "resources": {"requests": requests}}
    return {
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    }
