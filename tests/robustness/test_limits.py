"""How much and how long: what is too much is turned away, what is too long is given up."""

from __future__ import annotations

from contextlib import AsyncExitStack

from proreus.server.app import ApiServer
from proreus.server.config import ServerConfig
from proreus.testing.virtual_clock import VirtualClock
from tests.robustness.wire import (
    CONFIG_MAPS,
    Connection,
    ask,
    assert_alive,
    config_map,
    connected,
    measured,
    names,
    until,
)

WRITING = 'apiserver_current_inflight_requests{request_kind="mutating"}'
WATCHING = "apiserver_longrunning_requests"


async def begin_write(connection: Connection, name: str) -> None:
    """A create whose last byte is still to come: it holds a place while it is read."""
    body = config_map(name)
    length = ("Content-Length", str(len(body)))
    await connection.send(connection.head("POST", CONFIG_MAPS, [length]) + body[:-1])


async def test_more_requests_than_there_is_room_for_are_turned_away_until_there_is(
    server: ApiServer,
) -> None:
    """200 at work and 4,000 in line would need as many sockets: the line is made shorter."""
    pipeline = server._pipeline
    assert pipeline is not None
    pipeline.writes.limit, pipeline.writes.waiting_max = 4, 2
    async with AsyncExitStack() as open_connections:
        entered = [await open_connections.enter_async_context(connected(server)) for _ in range(6)]
        for number, connection in enumerate(entered):
            await begin_write(connection, f"a{number}")
        await until(server, WRITING, 4)

        refused = await ask(server, "POST", CONFIG_MAPS, config_map("b"))

        assert refused.code == 429
        assert refused.headers["retry-after"] == "1"
        assert refused.body == b"Too many requests, please try again later.\n"
        assert await measured(server, "apiserver_dropped_requests_total") == 1
        for connection in entered:
            await connection.send(b"}")
        assert [(await connection.answer()).code for connection in entered] == [201] * 6
    assert await names(server) == [f"a{number}" for number in range(6)]


async def test_reads_watches_and_health_do_not_wait_for_writes(server: ApiServer) -> None:
    pipeline = server._pipeline
    assert pipeline is not None
    pipeline.writes.limit, pipeline.writes.waiting_max = 1, 0
    async with connected(server) as connection, connected(server) as watching:
        await begin_write(connection, "a")
        await until(server, WRITING, 1)

        await watching.send(watching.head("GET", f"{CONFIG_MAPS}?watch=1"))
        assert (await watching.answer_head())[0] == 200
        assert (await ask(server, "GET", CONFIG_MAPS)).code == 200
        assert (await ask(server, "GET", "/livez")).code == 200


async def test_a_client_that_leaves_the_line_gives_its_place_back(server: ApiServer) -> None:
    pipeline = server._pipeline
    assert pipeline is not None
    pipeline.writes.limit, pipeline.writes.waiting_max = 1, 1
    async with connected(server) as first, connected(server) as second:
        await begin_write(first, "a")
        await until(server, WRITING, 1)
        await begin_write(second, "b")
        first.vanish()
        second.vanish()
        await until(server, WRITING, 0)

    await assert_alive(server)
    assert await names(server) == []


async def test_waiting_in_line_ends_with_the_deadline() -> None:
    clock = VirtualClock()
    async with ApiServer(ServerConfig(), clock) as server, AsyncExitStack() as opened:
        pipeline = server._pipeline
        assert pipeline is not None
        pipeline.writes.limit = 1
        working, waiting = [await opened.enter_async_context(connected(server)) for _ in range(2)]
        await begin_write(working, "a")
        await until(server, WRITING, 1)
        await begin_write(waiting, "b")
        while not pipeline.writes.waiting:
            await clock.settle()

        await clock.advance(40)

        for connection in (working, waiting):
            answer = await connection.answer()
            assert (answer.code, answer.reason) == (504, "Timeout")
        await until(server, WRITING, 0)
        assert await names(server) == []


async def test_a_read_has_sixty_seconds_and_a_watch_as_long_as_it_asks() -> None:
    """A list of a revision that never comes waits three seconds; with a stuck store it would
    wait for ever, if nobody ended it."""
    clock = VirtualClock()
    async with ApiServer(ServerConfig(), clock) as server, AsyncExitStack() as opened:
        reading, watching = [await opened.enter_async_context(connected(server)) for _ in range(2)]
        pipeline = server._pipeline
        assert pipeline is not None
        pipeline.reads.limit = 0  # nothing is ever let in
        await reading.send(reading.head("GET", CONFIG_MAPS))
        await watching.send(watching.head("GET", f"{CONFIG_MAPS}?watch=1&timeoutSeconds=300"))
        assert (await watching.answer_head())[0] == 200
        while not pipeline.reads.waiting:
            await clock.settle()

        await clock.advance(59)
        assert pipeline.reads.waiting == 1
        await clock.advance(2)
        answer = await reading.answer()
        assert (answer.code, answer.reason) == (504, "Timeout")
        assert answer.message == "Timeout: request did not complete within the allotted timeout"

        pipeline.reads.limit = 400
        assert await measured(server, WATCHING) == 1
        await clock.advance(300)
        assert [chunk async for chunk in watching.chunks()] == []


async def test_a_request_may_ask_for_less_time_than_it_could_have() -> None:
    clock = VirtualClock()
    async with ApiServer(ServerConfig(), clock) as server, connected(server) as connection:
        body = config_map("a")
        length = ("Content-Length", str(len(body)))
        await connection.send(connection.head("POST", f"{CONFIG_MAPS}?timeout=2s", [length]))
        await until(server, WRITING, 1)

        await clock.advance(2.5)

        assert (await connection.answer()).reason == "Timeout"
        assert await names(server) == []


async def test_unknown_paths_do_not_fill_the_metrics(server: ApiServer) -> None:
    async with connected(server) as connection:
        for number in range(1_500):
            path = f"/api/v1/{number}-{'x' * (number % 3 * 1_000)}?watch={number % 2}"
            await connection.ask("GET", path, None, [("Authorization", "")])

    text = (await ask(server, "GET", "/metrics")).body
    assert len(text) < 4 << 20
    await ask(server, "POST", CONFIG_MAPS, config_map("a"))
    await until(server, 'apiserver_request_total{verb="POST"', 1)
