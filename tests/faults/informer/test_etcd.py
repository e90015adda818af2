"""The same faults over a server on real etcd: nothing depends on the embedded store's ways."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.faults.informer.scene import Scene, scene
from tests.real_etcd import EtcdCluster, started_etcd


@pytest.fixture(scope="module")
def etcd() -> Iterator[EtcdCluster]:
    with started_etcd() as cluster:
        yield cluster


@pytest_asyncio.fixture
async def stage(etcd: EtcdCluster, tmp_path: Path) -> AsyncIterator[Scene]:
    endpoints = tuple(etcd.endpoints)
    async with scene(tmp_path / "server", stream_lists=True, etcd=endpoints) as made:
        yield made


async def test_network_faults(stage: Scene) -> None:
    """Guarantee: eventually equal"""
    for fault in (stage.proxy.cut, stage.proxy.close, stage.proxy.garbage):
        fault()
        await stage.churn(10)

    await stage.wait_equal()


async def test_history_compacted_away_while_the_informer_was_cut_off(
    stage: Scene, etcd: EtcdCluster
) -> None:
    """Guarantee: eventually equal"""
    await stage.cut_off()
    await stage.churn(40)
    found = json.loads(await asyncio.to_thread(etcd.etcdctl, "get", "x", "-w", "json"))
    await asyncio.to_thread(etcd.etcdctl, "compact", str(found["header"]["revision"]))
    await stage.stop_server()
    await stage.start_server()
    await stage.churn(10)
    await stage.proxy.listen()

    await stage.wait_equal()
    assert "expired" in stage.causes


async def test_etcd_away_for_a_moment(stage: Scene, etcd: EtcdCluster) -> None:
    """Guarantee: eventually equal"""
    await etcd.restart(0)
    await stage.churn(10)

    await stage.wait_equal()
