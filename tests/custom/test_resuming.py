"""Watches of custom kinds go on where they were after a restart, as those of built-in kinds do."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from proreus.aio.clock import SystemClock
from proreus.client import Client
from proreus.server.config import ServerConfig
from proreus.server.storage.etcd import EtcdConfig
from proreus.server.storage.etcd.client import COMPACT, EtcdClient
from proreus.server.storage.etcd.compaction import Rounds
from proreus.server.storage.etcd.messages import CompactionRequest
from proreus.testing.server import running_server
from tests.custom.asking import PATIENCE_S, define, redefine, widgets
from tests.custom.definitions import INTEGER, definition, version, widget
from tests.real_etcd import running_etcd

V1 = version("v1", storage=False, spec={"size": INTEGER})
V2 = version("v2", spec={"size": INTEGER})
SIZE = {"jsonPath": ".spec.size"}
ELSEWHERE = definition(version(spec={}), plural="gadgets", kind="Gadget")


@pytest.fixture(params=["sqlite", "etcd"])
async def config(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[ServerConfig]:
    if request.param == "sqlite":
        yield ServerConfig(data_dir=tmp_path / "data", tls=False)
        return
    async with running_etcd() as etcd:
        yield ServerConfig(etcd=tuple(etcd.endpoints), tls=False)


async def events_after(
    client: Client, after: str, count: int, *, of: str = "v1"
) -> list[tuple[str, str]]:
    """The next events after a resource version."""
    seen: list[tuple[str, str]] = []
    async with asyncio.timeout(PATIENCE_S):
        async with widgets(client, of).watch(resource_version=after) as events:
            async for event in events:
                if event.type != "BOOKMARK":
                    seen.append((event.type, event.object.metadata.name))
                if len(seen) == count:
                    return seen
    raise AssertionError(f"the stream ended after {seen}")


EXPECTED = [("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "a"), ("ADDED", "b")]


async def story(client: Client) -> str:
    """Some writes; returns the resource version before them."""
    first = await widgets(client).create(widget("first", spec={"size": 0}))
    await widgets(client).create(widget("a", spec={"size": 1}))
    await widgets(client).patch("a", {"spec": {"size": 2}})
    await widgets(client).delete("a")
    await widgets(client).create(widget("b", spec={"size": 1}))
    return str(first.metadata.resourceVersion)


async def test_a_watch_resumes_after_a_restart_in_every_version(config: ServerConfig) -> None:
    """Guarantee: resumable"""
    async with running_server(config) as server, server.client() as client:
        await define(client, definition(V1, V2))
        await define(client, ELSEWHERE)  # several kinds are loaded together
        after = await story(client)

    async with running_server(config) as server, server.client() as client:
        resumed = {name: await events_after(client, after, 4, of=name) for name in ("v1", "v2")}
        listed = [found.metadata.name for found in (await widgets(client).list_all()).items]

    assert resumed == {"v1": EXPECTED, "v2": EXPECTED}
    assert listed == ["b", "first"]


async def test_a_watch_resumes_when_its_kind_gets_selectable_fields(tmp_path: Path) -> None:
    config = ServerConfig(data_dir=tmp_path / "data", tls=False)
    async with running_server(config) as server, server.client() as client:
        await define(client, definition(V1, V2))
        after = await story(client)

        selecting = [{**one, "selectableFields": [SIZE]} for one in (V1, V2)]
        await redefine(client, definition(*selecting))
        await define(client, ELSEWHERE)  # the definitions are worked on in order
        resumed = await events_after(client, after, 4)

    assert resumed == EXPECTED


async def test_a_compacted_etcd_lets_watches_resume_from_what_is_left() -> None:
    """Guarantee: resumable"""
    async with running_etcd() as etcd:
        config = ServerConfig(etcd=tuple(etcd.endpoints), tls=False)
        async with running_server(config) as server, server.client() as client:
            await define(client, definition(V1, V2))
        await compact_all(etcd.endpoints)
        async with running_server(config) as server, server.client() as client:
            after = await story(client)

        async with running_server(config) as server, server.client() as client:
            resumed = await events_after(client, after, 4)

    assert resumed == EXPECTED


async def compact_all(endpoints: list[str]) -> None:
    """Forget everything but the present, by the agreement of the servers."""
    async with EtcdClient.open(EtcdConfig(endpoints), SystemClock()) as client:
        rounds, revision = Rounds(client), 0
        while not revision:
            revision = await rounds.next()
        await client.call(COMPACT, CompactionRequest(revision=revision))
