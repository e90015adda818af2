"""HTTP/2 by itself, over TLS, with ``h2`` on the other side: answers, streams, bodies, its end."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from operator import attrgetter

import pytest
import trustme

from proreus.aio.clock import SystemClock
from proreus.net.http1.messages import (
    Answer,
    BodyTooLarge,
    ChunkedStream,
    Chunks,
    Handler,
    Pieces,
    Request,
    Response,
    Streamed,
)
from proreus.net.http1.server import HttpServer
from proreus.net.http2 import frames
from proreus.net.http2.frames import ErrorCode
from proreus.net.http2.serving import http2
from proreus.testing.virtual_clock import VirtualClock
from tests.http2_client import Http2Client, connected_http2, trusting_anybody

PLAIN = (("Content-Type", "text/plain"),)
LARGE = b"0123456789abcdef" * 50_000


@pytest.fixture(scope="module")
def tls() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert("127.0.0.1").configure_cert(context)
    return context


@asynccontextmanager
async def serving(
    handler: Handler, tls: ssl.SSLContext, streams_max: int = 100
) -> AsyncIterator[Http2Client]:
    server = HttpServer(handler, SystemClock(), tls=tls, http2=http2(streams_max))
    async with (
        server.run(),
        connected_http2(f"https://127.0.0.1:{server.port}") as client,
    ):
        yield client


async def echo(request: Request) -> Answer:
    body = await request.read_body(1 << 24)
    text = f"{request.method} {request.raw_path_only} {request.raw_query} ".encode()
    return Response(200, PLAIN, text + body)


async def test_a_client_that_offers_both_gets_http2_and_one_that_does_not_http1(
    tls: ssl.SSLContext,
) -> None:
    async with HttpServer(echo, SystemClock(), tls=tls, http2=http2(1)).run() as server:
        chosen = list[str | None]()
        for offered in (["h2", "http/1.1"], ["http/1.1"], []):
            context = trusting_anybody()
            if offered:
                context.set_alpn_protocols(offered)
            else:
                context = ssl._create_unverified_context()
            _, writer = await asyncio.open_connection("127.0.0.1", server.port, ssl=context)
            chosen.append(writer.get_extra_info("ssl_object").selected_alpn_protocol())
            writer.transport.abort()

    assert chosen == ["h2", "http/1.1", None]


async def test_requests_are_answered_as_they_come(tls: ssl.SSLContext) -> None:
    async with serving(echo, tls) as client:
        first = await client.ask("GET", "/a%2Fb?n=1")
        second = await client.ask("POST", "/c", b"body")

    assert (first.code, first.body) == (200, b"GET /a%2Fb n=1 ")
    assert first.headers["content-type"] == "text/plain"
    assert first.headers["content-length"] == str(len(first.body))
    assert "date" in first.headers
    assert second.body == b"POST /c  body"


async def test_a_slow_request_holds_up_no_other(tls: ssl.SSLContext) -> None:
    go_on = asyncio.Event()

    async def handle(request: Request) -> Answer:
        if request.raw_path_only == "/slow":
            await go_on.wait()
        return Response(200, PLAIN, b"done")

    async with serving(handle, tls) as client:
        slow = client.request("GET", "/slow")

        assert (await client.ask("GET", "/quick")).body == b"done"
        assert not slow.is_over
        go_on.set()
        await client.until(lambda: slow.is_over)

    assert slow.body == b"done"


async def test_large_bodies_arrive_whole_both_ways(tls: ssl.SSLContext) -> None:
    async with serving(echo, tls) as client:
        answer = await client.ask("POST", "/", LARGE)

    assert answer.body == b"POST /  " + LARGE


async def pieces() -> AsyncIterator[bytes]:
    for _ in range(5):
        yield LARGE[:100_000]
    yield b""


BODIES: dict[str, tuple[bytes | Pieces | Chunks, bytes]] = {
    "nothing": (b"", b""),
    "pieces": (Pieces(300_000, iter([LARGE[:100_000]] * 3)), LARGE[:100_000] * 3),
    "chunks": (Chunks(pieces()), LARGE[:100_000] * 5),
    "a large one": (LARGE, LARGE),
}


@pytest.mark.parametrize("what", BODIES)
async def test_every_kind_of_body_is_sent(tls: ssl.SSLContext, what: str) -> None:
    async def handle(request: Request) -> Answer:
        return Response(200, PLAIN, BODIES[what][0])

    async with serving(handle, tls) as client:
        assert (await client.ask("GET", "/")).body == BODIES[what][1]


@pytest.mark.parametrize(("method", "status"), [("HEAD", 200), ("GET", 204), ("GET", 304)])
async def test_an_answer_without_a_body_ends_with_its_head(
    tls: ssl.SSLContext, method: str, status: int
) -> None:
    async def handle(request: Request) -> Answer:
        return Response(status, PLAIN, b"1234")

    async with serving(handle, tls) as client:
        answer = await client.ask(method, "/")

    assert (answer.code, answer.body) == (status, b"")
    assert answer.headers.get("content-length") == ("4" if method == "HEAD" else None)


async def test_an_answer_may_come_before_the_end_of_its_request(tls: ssl.SSLContext) -> None:
    async def refuse(request: Request) -> Answer:
        try:
            await request.read_body(10)
        except BodyTooLarge:
            return Response(413, PLAIN, b"too large", close=True)
        return Response(200, PLAIN)

    async with serving(refuse, tls) as client:
        stream = client.request("POST", "/", has_body=True)
        client.h2.send_data(stream.number, bytes(11))
        client.flush()
        await client.until(lambda: stream.is_over)

        assert (stream.code, stream.body) == (413, b"too large")
        assert (await client.ask("POST", "/", b"short")).code == 200


async def test_bodies_that_nobody_reads_leave_the_connections_window_as_it_was(
    tls: ssl.SSLContext,
) -> None:
    async def ignore(request: Request) -> Answer:
        return Response(200, PLAIN)

    async with serving(ignore, tls, streams_max=2) as client:
        for _ in range(30):  # more than the window of all streams together
            stream = client.request("POST", "/", has_body=True)
            client.h2.send_data(stream.number, bytes(16_384))
            client.flush()
            await client.until(partial(attrgetter("is_over"), stream))

        assert (await client.ask("POST", "/", b"body")).code == 200


async def test_a_client_that_expects_100_continue_gets_it(tls: ssl.SSLContext) -> None:
    async with serving(echo, tls) as client:
        answer = await client.ask("POST", "/", b"body", [("expect", "100-continue")])

    assert answer.body == b"POST /  body"


async def test_a_stream_sends_its_head_before_anything_happens(tls: ssl.SSLContext) -> None:
    opened = asyncio.Queue[ChunkedStream]()
    go_on = asyncio.Event()

    async def handle(request: Request) -> Answer:
        opened.put_nowait(request.open_stream(PLAIN))
        await go_on.wait()
        return Streamed()

    async with serving(handle, tls) as client:
        watch = client.request("GET", "/")
        await client.until(lambda: watch.code == 200)
        stream = await opened.get()
        stream.write(b"one ")
        await client.until(lambda: watch.body == b"one ")
        stream.write(b"two")
        stream.end()
        go_on.set()
        await client.until(lambda: watch.is_over)

    assert (watch.body, watch.reset) == (b"one two", None)


async def test_a_request_that_is_taken_back_is_cancelled(tls: ssl.SSLContext) -> None:
    begun, cancelled = asyncio.Event(), asyncio.Event()

    async def handle(request: Request) -> Answer:
        if request.raw_path_only != "/":
            return Response(200, PLAIN)
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()
        raise AssertionError("nobody sets it")

    async with serving(handle, tls) as client:
        stream = client.request("GET", "/")
        await begun.wait()
        client.h2.reset_stream(stream.number)
        client.flush()
        await asyncio.wait_for(cancelled.wait(), 60)

        assert (await client.ask("GET", "/other")).code == 200


@pytest.mark.parametrize("when", ["before its head", "after its head"])
async def test_a_handler_that_fails_spoils_its_own_stream_alone(
    tls: ssl.SSLContext, when: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def handle(request: Request) -> Answer:
        if request.raw_path_only != "/":
            return Response(200, PLAIN)
        if when == "after its head":
            request.open_stream(PLAIN).write(b"half of it")
        raise KeyError("a bug")

    async with serving(handle, tls) as client:
        failed = await client.ask("GET", "/")

        assert (await client.ask("GET", "/other")).code == 200
    if when == "before its head":
        assert (failed.code, failed.reset) == (500, None)
    else:
        assert failed.reset == ErrorCode.INTERNAL_ERROR
    assert "a handler failed" in caplog.text


async def test_a_stream_that_is_not_read_holds_its_bytes_and_lets_others_pass(
    tls: ssl.SSLContext,
) -> None:
    opened = asyncio.Queue[ChunkedStream]()

    async def handle(request: Request) -> Answer:
        if request.raw_path_only != "/":
            return Response(200, PLAIN, LARGE[:1000])
        opened.put_nowait(request.open_stream(PLAIN))
        await asyncio.Event().wait()
        raise AssertionError("nobody sets it")

    async with serving(handle, tls) as client:
        client.h2.increment_flow_control_window(1 << 20)  # of the connection, not of a stream
        client.flush()
        unread = client.request("GET", "/")
        unread.is_read = False
        stream = await opened.get()
        stream.write(LARGE[:100_000])
        await client.until(lambda: len(unread.body) == frames.WINDOW_BYTES)

        assert stream.buffered == 100_000 - frames.WINDOW_BYTES
        assert (await client.ask("GET", "/other")).body == LARGE[:1000]
        client.h2.increment_flow_control_window(50_000, unread.number)
        client.flush()
        await client.until(lambda: len(unread.body) == 100_000)
        assert stream.buffered == 0
        assert unread.body == LARGE[:100_000]


async def test_streams_that_wait_for_their_client_are_sent_in_turns(tls: ssl.SSLContext) -> None:
    async def handle(request: Request) -> Answer:
        return Response(200, PLAIN, LARGE)

    async with serving(handle, tls) as client:
        streams = [client.request("GET", "/") for _ in range(4)]
        await client.until(lambda: all(stream.is_over for stream in streams))

    assert all(stream.body == LARGE for stream in streams)


async def test_an_answer_that_is_not_read_for_a_minute_is_given_up(tls: ssl.SSLContext) -> None:
    clock = VirtualClock()

    async def handle(request: Request) -> Answer:
        return Response(200, PLAIN, LARGE if request.raw_path_only == "/" else b"")

    server = HttpServer(handle, clock, tls=tls, http2=http2(100))
    async with (
        server.run(),
        connected_http2(f"https://127.0.0.1:{server.port}") as client,
    ):
        unread = client.request("GET", "/")
        unread.is_read = False
        await client.until(lambda: len(unread.body) == frames.WINDOW_BYTES)
        while not unread.is_over:
            await clock.advance(10)
            await asyncio.sleep(0.01)

        assert unread.reset == ErrorCode.INTERNAL_ERROR
        assert (await client.ask("GET", "/other")).code == 200


async def test_an_idle_connection_is_closed_by_a_goaway(tls: ssl.SSLContext) -> None:
    clock = VirtualClock()
    async with (
        HttpServer(echo, clock, tls=tls, http2=http2(100)).run() as server,
        connected_http2(f"https://127.0.0.1:{server.port}") as client,
    ):
        await client.ask("GET", "/")
        while not client.is_closed:
            await clock.advance(20)
            await asyncio.sleep(0.01)

    assert client.goaway == ErrorCode.NO_ERROR


async def test_who_is_sent_elsewhere_is_answered_first_and_keeps_what_is_under_way(
    tls: ssl.SSLContext,
) -> None:
    go_on = asyncio.Event()

    async def handle(request: Request) -> Answer:
        if request.raw_path_only == "/slow":
            await go_on.wait()
        return Response(200, PLAIN, b"done")

    clock = VirtualClock()
    async with (
        HttpServer(handle, clock, tls=tls, http2=http2(100, goaway_chance=1)).run() as server,
        connected_http2(f"https://127.0.0.1:{server.port}") as client,
    ):
        slow = client.request("GET", "/slow")
        quick = await client.ask("GET", "/quick")
        await client.until(lambda: client.goaway is not None)
        late = frames.headers(slow.number + 100, b"\x82\x84\x87\x41\x01x", ends=True)
        client.send_raw(late)  # begun before the client knew: not served, and no harm
        go_on.set()
        await client.until(lambda: slow.is_over)
        is_left_open = not client.is_closed

        async with connected_http2(f"https://127.0.0.1:{server.port}") as next_one:
            again = await next_one.ask("GET", "/quick")
        while not client.is_closed:  # it did not close by itself
            await clock.advance(20)
            await asyncio.sleep(0.01)

    assert [quick.body, slow.body, again.body] == [b"done"] * 3
    assert (client.goaway, is_left_open) == (ErrorCode.NO_ERROR, True)


async def test_the_end_lets_requests_finish_and_begins_no_more(tls: ssl.SSLContext) -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def handle(request: Request) -> Answer:
        begun.set()
        await go_on.wait()
        return Response(200, PLAIN, b"done")

    server = HttpServer(handle, SystemClock(), tls=tls, http2=http2(100), grace_s=60)
    running = server.run()
    await running.__aenter__()
    async with connected_http2(f"https://127.0.0.1:{server.port}") as client:
        stream = client.request("GET", "/")
        await begun.wait()
        ending = asyncio.create_task(running.__aexit__(None, None, None))
        await client.until(lambda: client.goaway is not None)
        late = frames.headers(stream.number + 2, b"\x82\x84\x87\x41\x01x", ends=True)
        client.send_raw(late)
        go_on.set()
        await client.until_closed()
        await ending

    assert (client.goaway, stream.body) == (ErrorCode.NO_ERROR, b"done")


async def test_a_connection_that_breaks_the_protocol_is_closed_with_the_reason(
    tls: ssl.SSLContext,
) -> None:
    async with serving(echo, tls) as client:
        await client.ask("GET", "/")
        client.send_raw(frames.frame_head(frames.PUSH_PROMISE, 0, 1, 0))
        await client.until_closed()

    assert client.goaway == ErrorCode.PROTOCOL_ERROR
