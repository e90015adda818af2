"""The promises hold on every storage."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from uuid import uuid4

import pytest
from hypothesis import settings

from proreus.aio.clock import SystemClock
from proreus.server.storage.etcd import EtcdConfig, EtcdStorage
from proreus.server.storage.interface import Storage
from proreus.server.storage.memory import MemoryStorage
from proreus.server.storage.sqlite import SqliteStorage
from proreus.server.watch_cache import catch_up
from proreus.testing.virtual_clock import VirtualClock
from tests.guarantees.story import Store
from tests.real_etcd import EtcdCluster, started_etcd

Open = Callable[[VirtualClock], AbstractAsyncContextManager[Storage]]


@pytest.fixture(params=["memory", "sqlite", "etcd"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    many = settings().max_examples
    match request.param:
        case "memory":
            return Store("memory", MemoryStorage.open, max(5, many // 3))
        case "sqlite":
            return Store("sqlite", _on_files(tmp_path), max(2, many // 33))
        case "etcd":
            etcd = request.getfixturevalue("etcd")
            return Store("etcd", _on_etcd(etcd), max(2, many // 33))
        case unknown:
            raise AssertionError(unknown)


@pytest.fixture(scope="session")
def etcd() -> Iterator[EtcdCluster]:
    """One member for all stories; each begins by emptying it."""
    with started_etcd() as cluster:
        yield cluster


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Six objects shall take as many turns to write as thousands would."""
    monkeypatch.setattr(catch_up, "EVENTS_MAX", 3)


def _on_files(folder: Path) -> Open:
    @asynccontextmanager
    async def opened(clock: VirtualClock) -> AsyncIterator[Storage]:
        async with SqliteStorage.open(
            folder / f"{uuid4().hex}.db", clock, synchronous="NORMAL"
        ) as storage:
            yield storage

    return opened


def _on_etcd(cluster: EtcdCluster) -> Open:
    @asynccontextmanager
    async def opened(_: VirtualClock) -> AsyncIterator[Storage]:
        # etcd's own time is the machine's.
        async with EtcdStorage.open(EtcdConfig(cluster.endpoints), SystemClock()) as storage:
            for left in (await storage.list("/registry/")).items:
                await storage.delete(left.key, expected=left.revision)
            yield storage

    return opened
