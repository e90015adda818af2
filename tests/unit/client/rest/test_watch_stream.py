"""One watch from open to end, over a real socket."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest

from proreus.api.status import ApiError, Expired, InternalError, Unauthorized
from proreus.api.wire.framing import WatchEvent
from proreus.client.client_config import ClientConfig
from proreus.client.rest.client import RestClient
from proreus.client.rest.request import RestRequest
from proreus.client.rest.watch_stream import open_watch
from proreus.net.client.transport_error import (
    ConnectionLost,
    ConnectionRefused,
    ProtocolError,
    StreamSilent,
)
from proreus.testing.virtual_clock import VirtualClock
from tests.ports import dead_port
from tests.unit.client import scripted_server as scripted

WATCH = RestRequest("watch", "GET", "/api/v1/pods", (("watch", "true"),))
GONE = (
    b'{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",'
    b'"message":"too old","reason":"Expired","code":410}'
)


def line(kind: str, name: str, version: int = 1) -> bytes:
    return (
        b'{"type":"%b","object":{"kind":"Pod","apiVersion":"v1","metadata":'
        b'{"name":"%b","resourceVersion":"%d"}}}\n' % (kind.encode(), name.encode(), version)
    )


@contextlib.asynccontextmanager
async def against(
    *steps: scripted.Step, clock: VirtualClock | None = None
) -> AsyncIterator[tuple[RestClient, scripted.ScriptedServer]]:
    async with scripted.ScriptedServer(list(steps)).running() as server:
        config = ClientConfig(server.url, rate_limit=None, timeout_s=30.0)
        async with RestClient(config, clock=clock or scripted.HastyClock()) as rest:
            yield rest, server


async def events_of(rest: RestClient) -> list[tuple[str, str]]:
    async with open_watch(rest, WATCH) as events:
        return [(event.type, event.object.name) async for event in events]


async def test_events_arrive_however_the_bytes_are_cut_and_a_clean_end_is_quiet() -> None:
    whole = line("ADDED", "a") + line("MODIFIED", "a") + line("DELETED", "a")
    pieces = [whole[:10], whole[10:150], whole[150:]]
    async with against(scripted.stream(pieces)) as (rest, _):
        found = await events_of(rest)

    assert found == [("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "a")]


async def test_a_two_megabyte_line_cut_inside_a_character_is_one_event() -> None:
    text = "ü" * 1_000_000
    whole = (
        '{"type":"ADDED","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a"},'
        f'"data":{{"k":"{text}"}}}}}}\n'
    ).encode()
    chunks = [whole[at : at + 65_537] for at in range(0, len(whole), 65_537)]
    async with against(scripted.stream(chunks)) as (rest, _), open_watch(rest, WATCH) as events:
        event = await anext(aiter(events))

        assert event.object.data.k == text


async def test_an_error_event_raises_what_it_carries_and_ends_the_watch() -> None:
    chunks = [line("ADDED", "a"), b'{"type":"ERROR","object":' + GONE + b"}\n", line("ADDED", "b")]
    async with against(scripted.stream(chunks)) as (rest, _), open_watch(rest, WATCH) as events:
        assert (await anext(aiter(events))).type == "ADDED"
        with pytest.raises(Expired, match="too old"):
            await anext(aiter(events))

        assert [event async for event in events] == []


@pytest.mark.parametrize("end", [b"", b"\n"])
async def test_a_bare_status_instead_of_an_event_raises_it(end: bytes) -> None:
    async with against(scripted.stream([GONE + end])) as (rest, _):
        with pytest.raises(Expired):
            await events_of(rest)


async def test_410_as_an_answer_raises_at_open() -> None:
    async with against(scripted.answer(410, GONE)) as (rest, _):
        with pytest.raises(Expired):
            await events_of(rest)


async def test_a_last_line_without_newline_still_counts() -> None:
    async with against(scripted.stream([line("ADDED", "a").rstrip()])) as (rest, _):
        assert await events_of(rest) == [("ADDED", "a")]


async def test_half_a_line_at_a_clean_end_is_dropped() -> None:
    async with against(scripted.stream([line("ADDED", "a"), line("ADDED", "b")[:40]])) as (rest, _):
        assert await events_of(rest) == [("ADDED", "a")]


async def test_garbage_in_the_stream_raises_with_the_known_causes() -> None:
    async with against(scripted.stream([b"\x00garbage\n", line("ADDED", "b")])) as (rest, _):
        with pytest.raises(InternalError) as caught:
            await events_of(rest)

    assert [cause["reason"] for cause in caught.value.causes] == [
        "UnexpectedServerResponse",
        "ClientWatchDecoding",
    ]


async def test_a_cut_connection_is_loud() -> None:
    async with against(scripted.stream([line("ADDED", "a")], then="reset")) as (rest, _):
        seen: list[WatchEvent] = []
        with pytest.raises(ConnectionLost):
            async with open_watch(rest, WATCH) as events:
                async for event in events:
                    seen.append(event)

    assert [event.object.name for event in seen] == ["a"]


@pytest.mark.parametrize("garbage", [b"no chunk\r\n", b"\0\xff\0", b"f" * 30 + b"\r\n", b"1\r\n{X"])
async def test_bytes_that_are_not_http_end_the_stream_at_once(garbage: bytes) -> None:
    """Over plain HTTP nothing else would notice them."""
    first = line("ADDED", "a")

    async def break_off(_: scripted.Received, connection: scripted.Connection) -> None:
        head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        await connection.send(head + b"%x\r\n%b\r\n" % (len(first), first))
        await may_break.wait()
        await connection.send(garbage)
        await connection.reader.read()

    may_break = asyncio.Event()
    async with against(break_off) as (rest, _), open_watch(rest, WATCH) as events:
        seen = (await anext(aiter(events))).object.name
        may_break.set()
        with pytest.raises(ProtocolError, match="not HTTP"):
            await anext(aiter(events))

    assert seen == "a"


async def test_a_silent_stream_is_found_by_a_deadline() -> None:
    """Guarantee: alive or loud."""
    clock = VirtualClock()
    async with (
        against(scripted.stream([line("ADDED", "a")], then="hang"), clock=clock) as (rest, _),
        open_watch(rest, WATCH, silence_max_s=90.0) as events,
    ):
        assert (await anext(aiter(events))).object.name == "a"
        failure = await _failure_while(clock, events, 90.0)

    assert isinstance(failure, StreamSilent)
    assert "silent for 90 s" in str(failure)


async def test_a_watch_outlives_the_deadline_of_requests() -> None:
    clock = VirtualClock()
    async with (
        against(scripted.stream([line("ADDED", "a")], then="hang"), clock=clock) as (rest, _),
        open_watch(rest, WATCH, silence_max_s=None) as events,
    ):
        assert (await anext(aiter(events))).object.name == "a"
        failure = await _failure_while(clock, events, 60.0)

    assert failure is None


async def test_a_server_that_does_not_end_the_watch_at_its_time_is_not_there() -> None:
    clock = VirtualClock()
    async with (
        against(scripted.stream([line("ADDED", "a")], then="hang"), clock=clock) as (rest, _),
        open_watch(rest, WATCH, timeout_s=60, silence_max_s=None) as events,
    ):
        assert (await anext(aiter(events))).object.name == "a"
        failure = await _failure_while(clock, events, 70.0)

    assert isinstance(failure, StreamSilent)


async def _failure_while(
    clock: VirtualClock, events: AsyncIterator[WatchEvent], seconds: float
) -> Exception | None:
    async def next_event() -> Exception | None:
        try:
            await anext(events)
        except (StreamSilent, ConnectionLost) as failure:
            return failure
        return None

    async with asyncio.TaskGroup() as tasks:
        waiting = tasks.create_task(next_event())
        await clock.advance(seconds)
        if waiting.done():
            return waiting.result()
        waiting.cancel()
    return None


async def test_leaving_the_watch_closes_its_connection() -> None:
    closed = asyncio.Event()

    async def step(received: object, connection: object) -> None:
        await scripted.stream([line("ADDED", "a")], then="hang")(received, connection)  # type: ignore[arg-type]
        closed.set()

    async with against(step) as (rest, _):
        async with open_watch(rest, WATCH) as events:
            await anext(aiter(events))
        await asyncio.wait_for(closed.wait(), 60)


async def test_a_watch_that_cannot_be_opened_for_broken_connections_is_already_ended() -> None:
    async with against(*[scripted.reset() for _ in range(11)]) as (rest, server):
        assert await events_of(rest) == []
        assert len(server.requests) == 11


async def test_nobody_there_and_no_permission_are_raised_at_open() -> None:
    async with against(scripted.answer(401)) as (rest, _):
        with pytest.raises(Unauthorized):
            await events_of(rest)
    with dead_port() as port:
        nowhere = ClientConfig(f"http://127.0.0.1:{port}")
        async with RestClient(nowhere, clock=scripted.HastyClock()) as rest:
            with pytest.raises(ConnectionRefused):
                await events_of(rest)


async def test_headers_that_never_come_end_at_the_deadline_and_are_tried_again() -> None:
    clock = VirtualClock()
    async with (
        against(scripted.hang(), scripted.stream([line("ADDED", "a")]), clock=clock) as (
            rest,
            server,
        ),
        asyncio.TaskGroup() as tasks,
    ):
        watching = tasks.create_task(events_of(rest))
        await server.wait_requests(1)
        await clock.advance(31)  # the deadline, and the second before the next try
        await clock.advance(1)
        assert await watching == [("ADDED", "a")]


async def test_api_errors_of_a_watch_are_of_the_known_tree() -> None:
    async with against(scripted.answer(500, b"oops", "text/plain")) as (rest, _):
        with pytest.raises(ApiError, match="oops"):
            await events_of(rest)
