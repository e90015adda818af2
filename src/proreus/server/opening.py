"""Which storage a server has, and the upkeep that comes with it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from proreus.aio.clock import Clock
from proreus.server.config import ServerConfig
from proreus.server.storage.interface import Storage

_FILE = "objects.db"


@asynccontextmanager
async def open_storage(config: ServerConfig, clock: Clock) -> AsyncIterator[Storage]:
    """Raises StorageLocked, StorageCorrupt, Unavailable."""
    if config.etcd:
        from proreus.server.storage.etcd import EtcdConfig, EtcdStorage

        async with EtcdStorage.open(EtcdConfig(config.etcd), clock) as distributed:
            yield distributed
        return
    if config.data_dir is None:
        from proreus.server.storage.memory import MemoryStorage

        async with MemoryStorage.open(clock) as memory:
            yield memory
        return
    from proreus.server.storage.sqlite import SqliteStorage

    config.data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
    async with SqliteStorage.open(config.data_dir / _FILE, clock) as embedded:
        yield embedded
