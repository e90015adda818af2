"""Clients that go, or stop reading, cost the server nothing and the others not one event."""

from __future__ import annotations

import itertools
import json
from contextlib import AsyncExitStack

from proreus.server.app import ApiServer
from tests.robustness import wire

WATCHING = "apiserver_longrunning_requests"
CACHED = 'apiserver_watch_cache_watchers{group="",resource="configmaps"}'
LARGE = "y" * 900_000


async def watch(connection: wire.Connection, query: str = "") -> None:
    await connection.send(connection.head("GET", f"{wire.CONFIG_MAPS}?watch=1{query}"))
    assert (await connection.answer_head())[0] == 200


async def create(server: ApiServer, *names: str, **values: str) -> None:
    async with wire.connected(server) as connection:
        for name in names:
            answer = await connection.ask("POST", wire.CONFIG_MAPS, wire.config_map(name, **values))
            assert answer.code == 201


async def added(connection: wire.Connection, count: int) -> list[str]:
    """The names in the next ``count`` events."""
    found: list[str] = []
    rest = b""
    async for chunk in connection.chunks():
        *lines, rest = (rest + chunk).split(b"\n")
        found += [json.loads(line)["object"]["metadata"]["name"] for line in lines]
        if len(found) >= count:
            return found
    return found


async def test_watchers_that_vanish_are_forgotten(server: ApiServer) -> None:
    async with AsyncExitStack() as opened:
        gone = [await opened.enter_async_context(wire.connected(server)) for _ in range(50)]
        stays = await opened.enter_async_context(wire.connected(server))
        for connection in (*gone, stays):
            await watch(connection)
        await wire.until(server, WATCHING, 51)

        for connection in gone:
            connection.vanish()

        await wire.until(server, WATCHING, 1)
        await wire.until(server, CACHED, 1)
        await create(server, "a", "b")
        assert await added(stays, 2) == ["a", "b"]


async def test_a_watcher_that_vanishes_amid_its_events_is_forgotten(server: ApiServer) -> None:
    await create(server, *(f"large-{number}" for number in range(10)), x=LARGE)
    async with wire.connected(server, buffer_bytes=1024) as connection:
        await watch(connection, "&resourceVersion=0")
        await connection.exactly(100)
        connection.vanish()

        await wire.until(server, WATCHING, 0)
    await wire.assert_alive(server)


async def test_a_client_that_vanishes_amid_its_list_is_forgotten(server: ApiServer) -> None:
    await create(server, *(f"large-{number}" for number in range(10)), x=LARGE)
    for _ in range(5):
        async with wire.connected(server, buffer_bytes=1024) as connection:
            await connection.send(connection.head("GET", wire.CONFIG_MAPS))
            await connection.exactly(100)
            connection.vanish()

    await wire.until(server, 'apiserver_current_inflight_requests{request_kind="readOnly"', 1)
    await wire.assert_alive(server)


async def test_a_watcher_that_stops_sending_counts_as_gone(server: ApiServer) -> None:
    async with wire.connected(server) as connection:
        await watch(connection)
        await wire.until(server, WATCHING, 1)
        connection.end_sending()

        await wire.until(server, WATCHING, 0)
        assert await connection.rest() == b""


async def test_a_watcher_that_stops_reading_is_closed_and_nobody_else(server: ApiServer) -> None:
    async with wire.connected(server, buffer_bytes=1024) as stuck, wire.connected(server) as reads:
        await watch(stuck)
        await watch(reads)
        await wire.until(server, WATCHING, 2)
        stuck.stop_reading()

        for number in itertools.count():  # as many as the buffers between them and us hold
            await create(server, f"large-{number}", x=LARGE)
            assert await added(reads, 1) == [f"large-{number}"]
            if await wire.measured(server, WATCHING) == 1:
                break

        await create(server, "last")
        assert await added(reads, 1) == ["last"]
    await wire.assert_alive(server)


async def test_requests_behind_a_watch_on_its_connection_wait_for_its_end(
    server: ApiServer,
) -> None:
    async with wire.connected(server) as connection:
        await watch(connection, "&timeoutSeconds=1")
        await connection.send(connection.head("GET", "/readyz"))

        assert [chunk async for chunk in connection.chunks()] == []
        assert (await connection.answer()).body == b"ok"


async def test_many_connections_that_say_nothing_hold_up_nobody(server: ApiServer) -> None:
    async with AsyncExitStack() as opened:
        for number in range(300):
            connection = await opened.enter_async_context(wire.connected(server))
            await connection.send(b"GET /readyz HTTP/1.1\r\nHost:"[: number % 30])

        await wire.assert_alive(server)
        assert (await wire.ask(server, "GET", wire.CONFIG_MAPS)).code == 200
