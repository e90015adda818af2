"""Three servers on one etcd, restarted one after the other while people work.

``PROREUS_TEST_FULL=1`` runs it with 200 informers and 50 writers and prints what it measured.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from proreus.client import Client
from tests.faults.servers.balancer import balancer
from tests.faults.servers.fleet import fleet
from tests.faults.servers.load import Load, Size, loaded
from tests.real_etcd import running_etcd

IS_FULL = "PROREUS_TEST_FULL" in os.environ
SIZE = Size(200, 50, 10, 0.5) if IS_FULL else Size(24, 6, 3, 0.1)
BETWEEN = 20 if IS_FULL else 3  # writes of each writer


async def test_a_rolling_restart_loses_no_write_and_no_informer_lists_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Guarantees: durable, resumable"""
    async with (
        running_etcd() as etcd,
        fleet(3, etcd.endpoints, tmp_path) as servers,
        balancer(servers.ports) as port,
        Client(servers.config(port)) as client,
        loaded(client, SIZE) as load,
    ):
        for index in range(3):
            await servers.restart(index)
            await load.wait_writes(BETWEEN)

    relists = {each.name: each.status().relists for each in (*load.informers, *load.quiet)}
    causes = [dict(each.status().reconnect_causes) for each in load.informers]
    assert not any(relists.values()), causes
    if IS_FULL:
        with capsys.disabled():
            print(said(load))  # noqa: T201


def said(load: Load) -> str:
    ordered = sorted(load.latencies_s)
    median, late = (ordered[int(len(ordered) * share)] for share in (0.5, 0.99))
    writes = sum(number + 1 for number in load.acknowledged.values())
    return (
        f"\n{writes} writes ({load.failed_writes} repeated), {len(ordered)} events: "
        f"p50 {median * 1000:.0f} ms, p99 {late * 1000:.0f} ms, longest {ordered[-1]:.2f} s; "
        f"{len(load.informers) + len(load.quiet)} informers, none listed again"
    )
