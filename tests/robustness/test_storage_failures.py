"""A store that fails: the right Status for each failure, and everything goes on when it is back."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from proreus.aio.clock import Clock
from proreus.server import opening
from proreus.server.app import ApiServer
from proreus.server.config import ServerConfig
from proreus.server.storage.interface import (
    StorageBroken,
    StorageError,
    StorageFull,
    StorageReadOnly,
    StoredValue,
    Unavailable,
    ValueTooLarge,
)
from proreus.server.storage.memory import MemoryStorage
from tests.faults.failing_disk import refuse_writes, small_disk
from tests.robustness.wire import CONFIG_MAPS, Answer, ask, assert_alive, config_map, names

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
    async def open_plain_storage(
        config: ServerConfig, clock: Clock
    ) -> AsyncIterator[MemoryStorage]:
        async with BreakableStorage.open(clock) as store:
            assert isinstance(store, BreakableStorage)
            store.fault = mine
            yield store

    monkeypatch.setattr(opening, "open_plain_storage", open_plain_storage)
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
        (StorageReadOnly("read-only file system"), 500, "InternalError", None),
        (StorageBroken("I/O error"), 500, "InternalError", None),
        (ValueTooLarge("1.5 MB is the limit"), 500, "", None),
        (StorageError("torn"), 500, "InternalError", None),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
async def test_a_failed_write_is_reported_and_changes_nothing(
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


async def test_a_full_disk_refuses_writes_serves_reads_and_recovers(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", 16) as disk:
        others = disk / "others"
        data_dir = disk / "data"
        async with ApiServer(ServerConfig(data_dir=data_dir)) as server:
            others.write_bytes(bytes(4 << 20))
            stored, answer = await fill(server, size=500_000)

            assert (answer.code, answer.reason) == (500, "InternalError"), answer
            assert "the storage is full" in answer.message
            assert stored
            assert await names(server) == stored
            others.unlink()
            assert (await ask(server, "POST", CONFIG_MAPS, config_map("more"))).code == 201

        async with ApiServer(ServerConfig(data_dir=data_dir)) as again:
            assert await names(again) == [*stored, "more"]


async def test_on_a_full_disk_deletes_work_and_health_says_why_writes_do_not(
    tmp_path: Path,
) -> None:
    with small_disk(tmp_path / "disk", 20) as disk:
        async with ApiServer(ServerConfig(data_dir=disk / "data")) as server:
            stored, _ = await fill(server, size=50_000)

            alive, ready = await ask(server, "GET", "/livez"), await ask(server, "GET", "/readyz")
            why = await ask(server, "GET", "/readyz/etcd-readiness")
            deleted = [await ask(server, "DELETE", f"{CONFIG_MAPS}/{name}") for name in stored]

            assert (alive.code, ready.code, why.code) == (200, 500, 500)
            assert b"[-]etcd-readiness failed" in ready.body
            assert b"no space left" in why.body
            assert len(deleted) > 100
            assert {answer.code for answer in deleted} == {200}


async def test_a_server_starts_on_a_full_disk_and_lets_objects_be_deleted(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", 20) as disk:
        async with ApiServer(ServerConfig(data_dir=disk / "data")) as server:
            stored, _ = await fill(server, size=50_000)
        (disk / "others").write_bytes(bytes(shutil.disk_usage(disk).free))

        async with ApiServer(ServerConfig(data_dir=disk / "data")) as server:
            assert (await ask(server, "GET", "/livez")).code == 200
            assert (await ask(server, "GET", "/readyz")).code == 500
            assert await names(server) == stored
            refused = await ask(server, "POST", CONFIG_MAPS, config_map("more"))
            assert "the storage is full" in refused.message
            deleted = [await ask(server, "DELETE", f"{CONFIG_MAPS}/{name}") for name in stored]
            assert {answer.code for answer in deleted} == {200}


async def test_a_broken_disk_fails_the_health_checks_and_is_named_to_writers(
    tmp_path: Path,
) -> None:
    async with ApiServer(ServerConfig(data_dir=tmp_path / "data")) as server:
        await ask(server, "POST", CONFIG_MAPS, config_map("a"))
        assert (await ask(server, "GET", "/livez/etcd")).body == b"ok"

        refuse_writes(tmp_path / "data" / "objects.db")
        answers = [
            await ask(server, "POST", CONFIG_MAPS, config_map("b")),
            await ask(server, "PUT", f"{CONFIG_MAPS}/a", config_map("a", x="new")),
            await ask(server, "DELETE", f"{CONFIG_MAPS}/a"),
        ]

        for answer in answers:
            assert (answer.code, answer.reason) == (500, "InternalError"), answer
            assert "the storage failed" in answer.message
        for check in ("/livez", "/readyz", "/healthz", "/livez/etcd", "/readyz/etcd-readiness"):
            assert (await ask(server, "GET", check)).code == 500, check
        assert await names(server) == ["a"]


async def test_an_object_damaged_on_disk_can_be_deleted_and_is_not_written_over(
    tmp_path: Path,
) -> None:
    config = ServerConfig(data_dir=tmp_path / "data")
    async with ApiServer(config) as server:
        for name in ("a", "b"):
            await ask(server, "POST", CONFIG_MAPS, config_map(name, x=f"content of {name}"))
    file = tmp_path / "data" / "objects.db"
    file.write_bytes(file.read_bytes().replace(b"content of a", b"Content of a"))

    async with ApiServer(config) as server:
        listed = await names(server)
        written = [
            await ask(server, "PUT", f"{CONFIG_MAPS}/a", config_map("a", x="new")),
            await ask(server, "PATCH", f"{CONFIG_MAPS}/a", b'{"data":{"x":"new"}}', MERGE),
        ]
        deleted = await ask(server, "DELETE", f"{CONFIG_MAPS}/a")
        created = await ask(server, "POST", CONFIG_MAPS, config_map("a", x="new"))

        assert listed == ["a", "b"]
        assert [(answer.code, answer.reason) for answer in written] == [(500, "InternalError")] * 2
        assert all("is damaged" in answer.message for answer in written)
        assert (deleted.code, created.code) == (200, 201)
        found = await ask(server, "GET", f"{CONFIG_MAPS}/b")
        assert found.json["data"] == {"x": "content of b"}


async def fill(server: ApiServer, size: int) -> tuple[list[str], Answer]:
    """Create until that is refused; the names of what was created, and the refusal."""
    stored: list[str] = []
    while True:
        name = f"large-{len(stored):03}"
        answer = await ask(server, "POST", CONFIG_MAPS, config_map(name, x="y" * size))
        if answer.code != 201:
            return stored, answer
        stored.append(name)
