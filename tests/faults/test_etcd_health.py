"""An etcd that lost its majority or is full: health says so, and says when it is over."""

from __future__ import annotations

import asyncio

import pytest
from structlog.testing import capture_logs

from proreus.aio.clock import SystemClock
from proreus.server.storage.etcd import EtcdConfig, EtcdStorage, probe
from proreus.server.storage.health import (
    Full,
    Health,
    Healthy,
    Unreachable,
    liveness,
    readiness,
)
from proreus.server.storage.interface import StorageFull
from tests.real_etcd import running_etcd

WITHIN_S = 60
VALUE = bytes(100_000)


async def becomes(storage: EtcdStorage, wanted: type[Health]) -> None:
    async with asyncio.timeout(WITHIN_S):
        while not isinstance(storage.health, wanted):
            await storage.probe()


async def test_a_lost_majority_is_seen_and_so_is_its_return() -> None:
    async with running_etcd(members=3) as cluster:
        config = EtcdConfig(cluster.endpoints, attempt_timeout_s=1, request_timeout_s=3)
        async with EtcdStorage.open(config, SystemClock()) as storage:
            assert isinstance(storage.health, Healthy)
            with capture_logs() as logs:
                cluster.kill(0)
                cluster.kill(1)
                await becomes(storage, Unreachable)
                assert "no etcd endpoint answers" in liveness(storage.health)
                await asyncio.gather(cluster.restart(0), cluster.restart(1))
                await becomes(storage, Healthy)

    logged = [entry["event"] for entry in logs if entry["event"].startswith("storage")]
    assert logged == ["storage does not answer", "storage works again"]


async def test_a_full_etcd_is_seen_until_its_alarm_is_disarmed() -> None:
    async with (
        running_etcd(arguments=("--quota-backend-bytes=1000000",)) as cluster,
        EtcdStorage.open(EtcdConfig(cluster.endpoints), SystemClock()) as storage,
    ):
        with pytest.raises(StorageFull):
            for number in range(100):
                await storage.create(f"/registry/things/{number}", VALUE)
        assert isinstance(storage.health, Full)
        assert not liveness(storage.health)
        assert "space" in readiness(storage.health)

        # etcd before 3.6 refuses all transactions, so only its own tool can delete.
        await asyncio.to_thread(cluster.etcdctl, "del", "--prefix", "/registry/things/")
        await storage.compact(await storage.current_revision())
        await asyncio.to_thread(cluster.etcdctl, "defrag")
        await asyncio.to_thread(cluster.etcdctl, "alarm", "disarm")
        await becomes(storage, Healthy)

        assert await storage.create("/registry/things/after", VALUE)


def test_alarms_are_distinguished() -> None:
    assert isinstance(probe.condition(()), Healthy)
    assert isinstance(probe.condition(("memberID:1 alarm:NOSPACE ",)), Full)
    corrupt = probe.condition(("memberID:1 alarm:CORRUPT ",))
    assert isinstance(corrupt, Unreachable) and "CORRUPT" in corrupt.why
