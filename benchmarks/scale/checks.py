"""Runs a share of the whole cluster against one server, to see how far the model is off."""

from __future__ import annotations

import asyncio
import math
import os
import statistics
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks.api_server._load import Connection
from benchmarks.api_server._server import ServerProcess
from benchmarks.scale.hollow import Hollow, Used, used
from benchmarks.scale.model import FULL

SHARES = (0.01, 0.02, 0.05, 0.10)
_ROUNDS, _ROUND_S = 5, 6.0
_SETTLED_S = 2.0


@dataclass(frozen=True, slots=True)
class Check:
    """What one run measured. Latencies are wall time, whose machine others may have used:
    ``load`` is how many processes wanted to run in the minute before the end."""

    share: float
    run_s: float
    memory_mb: float
    cores: float
    in_mb_per_s: float
    out_mb_per_s: float
    stored_mb: float
    call_p50_ms: float
    call_p99_ms: float
    event_p50_ms: float
    event_p99_ms: float
    list_s: float
    load: float


async def check(server: ServerProcess, folder: Path, share: float) -> Check:
    cluster = FULL.scaled(share)
    async with Hollow(server, cluster).open() as hollow:
        await hollow.create_nodes()
        await hollow.create_pods(0, cluster.pods)
        await hollow.connect()
        await hollow.watch(await hollow.connect_watches())
        await hollow.follow(cluster.followers)
        await asyncio.sleep(_SETTLED_S)
        began, cores = time.monotonic(), []
        for _ in range(_ROUNDS):
            before = used(server, folder)
            await _round(hollow)
            cores.append(_cores(before, used(server, folder)))
        run_s = time.monotonic() - began
        await asyncio.sleep(_SETTLED_S)
        after = used(server, folder)
        list_s, _ = await hollow.list_pods()
        writes = list(hollow.sent.values())
        events_b = sum(one.bytes for one in [*hollow.followers, *_watches(hollow)])
        calls_ms = [s * 1e3 for sent in writes for s in sent.latencies_s]
        events_ms = [s * 1e3 for one in hollow.followers for s in one.latencies_s]
        return Check(
            share=share,
            run_s=run_s,
            memory_mb=after.resident_mb,
            cores=min(cores),
            in_mb_per_s=sum(sent.in_b for sent in writes) / run_s / 1e6,
            out_mb_per_s=(sum(sent.out_b for sent in writes) + events_b) / run_s / 1e6,
            stored_mb=after.stored_mb,
            call_p50_ms=statistics.median(calls_ms),
            call_p99_ms=percentile(calls_ms, 0.99),
            event_p50_ms=statistics.median(events_ms),
            event_p99_ms=percentile(events_ms, 0.99),
            list_s=list_s,
            load=os.getloadavg()[0],
        )


async def _round(hollow: Hollow) -> None:
    """All nodes' heartbeats and the pods' changes, side by side, for one round."""
    cluster = hollow.cluster
    rates = {"pod": cluster.pod_changes_per_s, "lease": cluster.leases_per_s}
    rates["status"] = cluster.statuses_per_s
    async with asyncio.TaskGroup() as group:
        for kind, per_s in rates.items():
            group.create_task(hollow.paced(kind, per_s, _ROUND_S))


def percentile(values: list[float], share: float) -> float:
    """The smallest value that so many are not above."""
    return sorted(values)[max(0, math.ceil(len(values) * share) - 1)]


def _cores(before: Used, after: Used) -> float:
    return (after.cpu_s - before.cpu_s) / (after.wall_s - before.wall_s)


def _watches(hollow: Hollow) -> list[Connection]:
    return [watch for node in hollow.nodes for watch in node.watches]
