"""How much and how long: what is too much is turned away, what is too long is given up."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack

import pytest_asyncio

from proreus.server.app import ApiServer
from proreus.server.config import ServerConfig
from proreus.server.fairness.queues import LevelSeats, Queuing
from proreus.server.http.seats import Limits, Share
from proreus.testing.virtual_clock import VirtualClock
from tests.robustness import wire

EVERYONE_MAY = ServerConfig(authorization_mode=("AlwaysAllow",))  # rights are not what is limited
WATCHING = "apiserver_longrunning_requests"


@pytest_asyncio.fixture
async def server() -> AsyncIterator[ApiServer]:
    async with ApiServer(EVERYONE_MAY) as running:
        yield running


def limits(server: ApiServer) -> Limits:
    return server.parts.limits


def level(server: ApiServer) -> LevelSeats:
    """That of users without privileges."""
    return server.parts.fairness.levels["global-default"].seats


def close(seats: LevelSeats) -> None:
    """No seats, and no queue to wait in."""
    seats.configure(Queuing())
    seats.resize(0)


def by(user: str) -> tuple[str, str]:
    return ("Impersonate-User", user)


async def begin_write(
    connection: wire.Connection, user: str = "slow", *, size: int = 100, sent: bytes = b"{"
) -> None:
    """A create of which only the first bytes come."""
    length = ("Content-Length", str(size))
    await connection.send(connection.head("POST", wire.CONFIG_MAPS, [length, by(user)]) + sent)


async def reach(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(wire.PATIENCE_S):
        while not condition():  # noqa: ASYNC110  # the server shares this loop
            await asyncio.sleep(0)


async def test_who_sends_bodies_slowly_holds_up_nobody(server: ApiServer) -> None:
    shared = limits(server)
    async with AsyncExitStack() as opened:
        for _ in range(200):
            await begin_write(await opened.enter_async_context(wire.connected(server)))
        await reach(lambda: shared.waiting.used == 200)

        assert level(server).in_use == 0
        assert (await wire.ask(server, "GET", "/livez")).code == 200
        for number, user in enumerate(("other", "slow")):
            written = await wire.ask(
                server, "POST", wire.CONFIG_MAPS, wire.config_map(f"a{number}"), [by(user)]
            )
            assert written.code == 201
    await reach(lambda: shared.waiting.used == 0)


async def test_a_user_with_too_many_requests_is_asked_to_come_back_and_others_are_served(
    server: ApiServer,
) -> None:
    """Fifty at work and fifty in each queue would need as many sockets: here it is one and one."""
    seats = level(server)
    seats.configure(Queuing(queues=128, hand_size=1, length_limit=1))
    seats.resize(1)
    holding = seats.take_nowait("global-default", "greedy", 1)
    assert holding is not None
    async with wire.connected(server) as waiting:
        body = wire.config_map("waiting")
        length = ("Content-Length", str(len(body)))
        head = waiting.head("POST", wire.CONFIG_MAPS, [length, by("greedy")])
        await waiting.send(head + body)
        await reach(lambda: seats.waiting == 1)

        refused = await wire.ask(
            server, "POST", wire.CONFIG_MAPS, wire.config_map("b"), [by("greedy")]
        )
        served = await wire.ask(
            server, "POST", wire.CONFIG_MAPS, wire.config_map("c")
        )  # of another level

        assert refused.code == 429
        assert refused.headers["retry-after"] == "1"
        assert refused.body == b"Too many requests, please try again later.\n"
        assert await wire.measured(server, "apiserver_dropped_requests_total") == 1
        assert served.code == 201
        assert await wire.names(server) == ["c"]
        seats.give_back(holding)
        assert (await waiting.answer()).code == 201
    assert await wire.names(server) == ["c", "waiting"]


async def test_lists_and_gets_of_a_future_revision_hold_up_nobody() -> None:
    clock = VirtualClock()
    async with ApiServer(EVERYONE_MAY, clock) as server, AsyncExitStack() as opened:
        seats, shared = level(server), limits(server)
        seats.resize(4)
        waiting = [await opened.enter_async_context(wire.connected(server)) for _ in range(20)]
        for number, connection in enumerate(waiting):
            path = wire.CONFIG_MAPS + ("/a" if number % 2 else "") + "?resourceVersion=1000000"
            await connection.send(connection.head("GET", path, [by("waiting")]))
        await reach(lambda: shared.waiting.used == 20)

        assert seats.in_use == 0
        assert (await wire.ask(server, "GET", wire.CONFIG_MAPS, None, [by("waiting")])).code == 200
        await clock.advance(4)
        for connection in waiting:
            assert (await connection.answer()).reason == "Timeout"
        await reach(lambda: shared.waiting.used == 0)


async def test_a_user_whose_bodies_take_too_much_memory_is_asked_to_come_back(
    server: ApiServer,
) -> None:
    bodies = limits(server).bodies = Share(400_000)
    async with wire.connected(server) as slow, wire.connected(server) as late:
        await begin_write(slow, size=1_000_000, sent=bytes(150_000))
        await reach(lambda: bodies.used == 150_000)
        await begin_write(late, size=1_000_000, sent=bytes(120_000))

        assert (await late.answer()).code == 429
        large = wire.config_map("a", text="x" * 100_000)
        assert (await wire.ask(server, "POST", wire.CONFIG_MAPS, large, [by("other")])).code == 201
    await reach(lambda: bodies.used == 0)


async def test_probes_never_wait(server: ApiServer) -> None:
    await wire.wait_ready(server)
    close(level(server))

    for path in ("/livez", "/readyz", "/healthz", "/readyz?verbose"):
        assert (await wire.ask(server, "GET", path, None, [by("user")])).code == 200
    for path in (wire.CONFIG_MAPS, "/version"):
        assert (await wire.ask(server, "GET", path, None, [by("user")])).code == 429
        assert (await wire.ask(server, "GET", path)).code == 200  # administrators are exempt


async def test_who_is_not_authenticated_is_refused_before_any_waiting(server: ApiServer) -> None:
    close(level(server))

    answer = await wire.ask(
        server, "GET", wire.CONFIG_MAPS, None, [("Authorization", "Bearer wrong")]
    )

    assert (answer.code, answer.reason) == (401, "Unauthorized")


async def test_a_watch_that_has_begun_holds_no_seat(server: ApiServer) -> None:
    level(server).resize(1)
    async with wire.connected(server) as watching:
        await watching.send(watching.head("GET", f"{wire.CONFIG_MAPS}?watch=1", [by("watcher")]))

        assert (await watching.answer_head())[0] == 200
        await reach(lambda: level(server).in_use == 0)
        assert (await wire.ask(server, "GET", wire.CONFIG_MAPS, None, [by("other")])).code == 200


async def test_a_client_that_leaves_gives_its_place_back(server: ApiServer) -> None:
    seats, shared = level(server), limits(server)
    async with wire.connected(server) as slow, wire.connected(server) as waiting:
        await begin_write(slow)
        await reach(lambda: shared.waiting.used == 1)
        seats.resize(0)
        await begin_write(waiting)
        await reach(lambda: seats.waiting == 1)
        slow.vanish()
        waiting.vanish()
        await reach(lambda: shared.waiting.used == seats.waiting == 0)

    seats.resize(1)
    await wire.assert_alive(server)
    assert await wire.names(server) == []


async def test_waiting_for_a_body_ends_with_the_deadline() -> None:
    clock = VirtualClock()
    async with ApiServer(EVERYONE_MAY, clock) as server, wire.connected(server) as slow:
        await begin_write(slow)
        await reach(lambda: limits(server).waiting.used == 1)

        await clock.advance(40)

        answer = await slow.answer()
        assert (answer.code, answer.reason) == (504, "Timeout")
        await reach(lambda: limits(server).waiting.used == 0)
        assert await wire.names(server) == []


async def test_a_watch_has_as_long_as_it_asks() -> None:
    clock = VirtualClock()
    async with ApiServer(EVERYONE_MAY, clock) as server, wire.connected(server) as watching:
        await watching.send(watching.head("GET", f"{wire.CONFIG_MAPS}?watch=1&timeoutSeconds=300"))
        assert (await watching.answer_head())[0] == 200

        await clock.advance(61)
        assert await wire.measured(server, WATCHING) == 1
        await clock.advance(300)
        assert [chunk async for chunk in watching.chunks()] == []


async def test_a_request_may_ask_for_less_time_than_it_could_have() -> None:
    clock = VirtualClock()
    async with ApiServer(EVERYONE_MAY, clock) as server, wire.connected(server) as connection:
        body = wire.config_map("a")
        length = ("Content-Length", str(len(body)))
        await connection.send(connection.head("POST", f"{wire.CONFIG_MAPS}?timeout=2s", [length]))
        await reach(lambda: limits(server).waiting.used == 1)

        await clock.advance(2.5)

        assert (await connection.answer()).reason == "Timeout"
        assert await wire.names(server) == []


async def test_unknown_paths_do_not_fill_the_metrics(server: ApiServer) -> None:
    async with wire.connected(server) as connection:
        for number in range(1_500):
            path = f"/api/v1/{number}-{'x' * (number % 3 * 1_000)}?watch={number % 2}"
            await connection.ask("GET", path, None, [("Authorization", "")])

    text = (await wire.ask(server, "GET", "/metrics")).body
    assert len(text) < 4 << 20
    await wire.ask(server, "POST", wire.CONFIG_MAPS, wire.config_map("a"))
    await wire.until(server, 'apiserver_request_total{verb="POST"', 1)
