"""Servers that share an etcd: what a write through one costs it, and its event the others."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

from benchmarks import _process
from benchmarks.api_server._server import ServerProcess, running_server
from benchmarks.scale.hollow import Hollow
from benchmarks.scale.model import Cluster, SharedSlopes
from tests.real_etcd import started_etcd

_CLUSTER = Cluster(nodes=50, pods=1_000, pod_changes_per_s=0)
_ROUNDS, _BURST = 6, 1_500


def measure_shared() -> SharedSlopes:
    with started_etcd(fsync=True) as etcd, tempfile.TemporaryDirectory() as name:
        flags = ("--etcd", etcd.endpoints[0])
        member = etcd.members[0].process
        assert member is not None
        compiled = Path(name) / "bytecode"
        with (
            running_server(Path(name) / "a", compiled, *flags) as writer,
            running_server(Path(name) / "b", compiled, *flags) as other,
        ):
            return asyncio.run(_measure(writer, other, member.pid))


async def _measure(writer: ServerProcess, other: ServerProcess, etcd_pid: int) -> SharedSlopes:
    pids = (writer.pid, other.pid, etcd_pid)
    costs: list[tuple[float, ...]] = []
    async with Hollow(writer, _CLUSTER).open() as hollow:
        await hollow.create_nodes()
        await hollow.create_pods(0, _CLUSTER.pods)
        await hollow.connect()
        for _ in range(_ROUNDS):
            before = [_process.cpu_s(pid) for pid in pids]
            await hollow.burst("pod", _BURST)
            after = [_process.cpu_s(pid) for pid in pids]
            spent = (end - start for start, end in zip(before, after, strict=True))
            costs.append(tuple(seconds / _BURST * 1e3 for seconds in spent))
    return SharedSlopes(*(min(column) for column in zip(*costs, strict=True)))
