"""A store that fails: the right Status for each failure, and everything goes on when it is back."""

from __future__ import annotations

import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from proreus.aio.clock import Clock
from proreus.server import app
from proreus.server.app import ApiServer
from proreus.server.config import ServerConfig
from proreus.server.storage.interface import (
    StorageError,
    StorageFull,
    StoredValue,
    Unavailable,
    ValueTooLarge,
)
from proreus.server.storage.memory import MemoryStorage
from tests.robustness.wire import CONFIG_MAPS, ask, assert_alive, config_map, names

MERGE = [("Content-Type", "application/merge-patch+json")]


@dataclass(slots=True)
class Fault:
    """What every touch of the store raises, while it is set."""

    error: StorageError | None = None

    def strike(self) -> None:
        if self.error is not None:
            raise self.error


class BreakableStorage(MemoryStorage):
    """Works until its fault strikes."""

    fault = Fault()

    async def create(self, key: str, value: bytes, *, ttl_s: float | None = None) -> int:
        self.fault.strike()
        return await super().create(key, value, ttl_s=ttl_s)

    async def update(
        self,
        key: str,
        value: bytes,
        *,
        expected: int,
        ttl_s: float | None = None,
        replaced: bytes | None = None,
    ) -> int:
        self.fault.strike()
        return await super().update(key, value, expected=expected, ttl_s=ttl_s, replaced=replaced)

    async def delete(self, key: str, *, expected: int, replaced: bytes | None = None) -> int:
        self.fault.strike()
        return await super().delete(key, expected=expected, replaced=replaced)

    async def get(self, key: str, *, at_least: int = 0) -> StoredValue | None:
        self.fault.strike()
        return await super().get(key, at_least=at_least)

    async def current_revision(self) -> int:
        self.fault.strike()
        return await super().current_revision()


@pytest.fixture
def fault(monkeypatch: pytest.MonkeyPatch) -> Fault:
    mine = Fault()

    @asynccontextmanager
    async def open_storage(config: ServerConfig, clock: Clock) -> AsyncIterator[MemoryStorage]:
        async with BreakableStorage.open(clock) as store:
            assert isinstance(store, BreakableStorage)
            store.fault = mine
            yield store

    monkeypatch.setattr(app, "open_storage", open_storage)
    return mine


@pytest.fixture
async def broken_server(fault: Fault) -> AsyncIterator[ApiServer]:
    async with ApiServer(ServerConfig()) as running:
        yield running


@pytest.mark.parametrize(
    ("failure", "code", "reason", "retry_after"),
    [
        (Unavailable("no leader"), 500, "ServerTimeout", "2"),
        (StorageFull("no space left"), 500, "InternalError", None),
        (ValueTooLarge("1.5 MB is the limit"), 500, "InternalError", None),
        (StorageError("torn"), 500, "InternalError", None),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
async def test_a_failed_write_is_told_and_changes_nothing(
    broken_server: ApiServer,
    fault: Fault,
    failure: StorageError,
    code: int,
    reason: str,
    retry_after: str | None,
) -> None:
    server = broken_server
    before = await ask(server, "POST", CONFIG_MAPS, config_map("a", x="old"))
    fault.error = failure

    answers = [
        await ask(server, "POST", CONFIG_MAPS, config_map("b")),
        await ask(server, "PUT", f"{CONFIG_MAPS}/a", config_map("a", x="new")),
        await ask(server, "PATCH", f"{CONFIG_MAPS}/a", b'{"data":{"x":"new"}}', MERGE),
        await ask(server, "DELETE", f"{CONFIG_MAPS}/a"),
    ]

    for answer in answers:
        assert (answer.code, answer.reason) == (code, reason), answer
        assert answer.headers.get("retry-after") == retry_after
    fault.error = None
    assert await names(server) == ["a"]
    assert (await ask(server, "GET", f"{CONFIG_MAPS}/a")).json == before.json
    await assert_alive(server)


async def test_reads_that_may_be_old_are_served_while_the_store_is_away(
    broken_server: ApiServer, fault: Fault
) -> None:
    server = broken_server
    await ask(server, "POST", CONFIG_MAPS, config_map("a"))
    fault.error = Unavailable("no leader")

    cached = await ask(server, "GET", f"{CONFIG_MAPS}?resourceVersion=0")
    fresh = await ask(server, "GET", CONFIG_MAPS)

    assert [item["metadata"]["name"] for item in cached.json["items"]] == ["a"]
    assert fresh.code in (200, 500, 504), fresh
    assert fresh.code == 200 or fresh.reason in ("ServerTimeout", "Timeout"), fresh
    assert (await ask(server, "GET", "/livez")).code == 200


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    disk = tmp_path / "disk"
    disk.mkdir(mode=0o700)
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", str(disk)], capture_output=True
    )
    if mounted.returncode:
        pytest.skip(f"no right to mount a small disk: {mounted.stderr.decode().strip()}")
    try:
        yield disk
    finally:
        subprocess.run(["umount", str(disk)], check=True)


async def test_a_full_disk_refuses_writes_serves_reads_and_recovers(small_disk: Path) -> None:
    ballast = small_disk / "ballast"
    data_dir = small_disk / "data"
    async with ApiServer(ServerConfig(data_dir=data_dir)) as server:
        ballast.write_bytes(bytes(4 << 20))
        stored = []
        for number in range(100):
            body = config_map(f"large-{number:03}", x="y" * 500_000)
            answer = await ask(server, "POST", CONFIG_MAPS, body)
            if answer.code != 201:
                break
            stored.append(f"large-{number:03}")

        assert (answer.code, answer.reason) == (500, "InternalError"), answer
        assert "the storage is full" in answer.message
        assert stored
        assert await names(server) == stored
        ballast.unlink()
        assert (await ask(server, "POST", CONFIG_MAPS, config_map("more"))).code == 201

    async with ApiServer(ServerConfig(data_dir=data_dir)) as again:
        assert await names(again) == [*stored, "more"]
