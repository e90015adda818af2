"""The HTTP server by itself: answers, streams, bodies, its end."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from email.utils import formatdate

import pytest
import trustme

from proreus.aio.clock import SystemClock
from proreus.net.http1.messages import Answer, BodyTooLarge, Pieces, Request, Response, Streamed
from proreus.net.http1.server import HttpServer
from proreus.net.tls.listener import ACCEPTED_PER_TURN

PLAIN = (("Content-Type", "text/plain"),)
Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@asynccontextmanager
async def serving(handler: Callable[[Request], object]) -> AsyncIterator[Connection]:
    async with HttpServer(handler, SystemClock()).run() as server:  # type: ignore[arg-type]
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        try:
            yield reader, writer
        finally:
            writer.close()


async def ask(connection: Connection, request: bytes) -> bytes:
    reader, writer = connection
    writer.write(request)
    head = await reader.readuntil(b"\r\n\r\n")
    length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
    return head + await reader.readexactly(length)


async def echo(request: Request) -> Answer:
    body = await request.read_body(1000)
    text = f"{request.method} {request.raw_path_only} {request.raw_query} ".encode()
    return Response(200, PLAIN, text + body)


async def test_a_connection_carries_one_request_after_another() -> None:
    async with serving(echo) as connection:
        for number in range(3):
            answer = await ask(connection, b"GET /a%%2Fb?n=%d HTTP/1.1\r\nHost: x\r\n\r\n" % number)

            assert answer.endswith(b"GET /a%%2Fb n=%d " % number)
            assert b"\r\nDate: " in answer


@pytest.mark.parametrize("second", [0, 951_782_400, 1_709_251_199, 1_767_225_600, 4_102_444_799])
def test_a_date_is_written_as_mail_writes_it(second: int) -> None:
    class Then(SystemClock):
        def now(self) -> float:
            return second + 0.5

    server = HttpServer(echo, Then())

    assert server.date() == f"Date: {formatdate(second, usegmt=True)}\r\n".encode()


async def test_an_event_over_plain_http_is_not_held_until_the_one_before_is_acknowledged() -> None:
    """Nagle's algorithm did so, for up to 40 ms."""
    found: list[int] = []

    async def look(request: Request) -> Answer:
        connected: socket.socket = request.transport.get_extra_info("socket")
        found.append(connected.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        return Response(200, PLAIN)

    async with serving(look) as connection:
        await ask(connection, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")

    assert found == [1]


async def test_pipelined_requests_are_answered_in_order() -> None:
    async with serving(echo) as (reader, writer):
        writer.write(b"".join(b"GET /%d HTTP/1.1\r\nHost: x\r\n\r\n" % n for n in range(20)))

        found = b""
        while b"GET /19 " not in found:
            found += await reader.read(4096)

    places = [found.index(b"GET /%d " % n) for n in range(20)]
    assert places == sorted(places)


async def test_a_body_over_the_limit_stops_being_read() -> None:
    async def refuse(request: Request) -> Answer:
        try:
            await request.read_body(10)
        except BodyTooLarge:
            return Response(413, PLAIN, b"", close=True)
        return Response(200, PLAIN)

    async with serving(refuse) as connection:
        request = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 11\r\n\r\n" + b"x" * 11

        assert (await ask(connection, request)).startswith(b"HTTP/1.1 413 ")
        assert await connection[0].read() == b""


async def test_a_large_answer_arrives_whole() -> None:
    body = b"0123456789abcdef" * 200_000

    async def large(request: Request) -> Answer:
        return Response(200, PLAIN, body)

    async with serving(large) as connection:
        answer = await ask(connection, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")

    assert answer.partition(b"\r\n\r\n")[2] == body


async def test_of_many_large_answers_one_piece_is_made_in_each_turn_of_the_loop() -> None:
    turn, made_in = 0, list[int]()

    def count() -> None:
        nonlocal turn
        turn += 1
        counting.append(asyncio.get_running_loop().call_soon(count))
        del counting[:-1]

    def pieces() -> Iterator[bytes]:
        for _ in range(5):
            made_in.append(turn)
            yield bytes(64 * 1024)

    async def large(request: Request) -> Answer:
        return Response(200, PLAIN, Pieces(5 * 64 * 1024, pieces()))

    counting = list[asyncio.Handle]()
    async with HttpServer(large, SystemClock()).run() as server, asyncio.TaskGroup() as group:
        count()
        clients = [await asyncio.open_connection("127.0.0.1", server.port) for _ in range(8)]
        asked = [
            group.create_task(ask(one, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")) for one in clients
        ]
        await asyncio.wait(asked)
        counting[-1].cancel()
        for _, writer in clients:
            writer.close()

    assert len(made_in) == len(set(made_in)) == 40


async def test_head_has_the_length_but_no_body() -> None:
    async with serving(echo) as (reader, writer):
        writer.write(b"HEAD / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")

        answer = await reader.read()

    assert b"Content-Length: 8\r\n" in answer
    assert answer.endswith(b"\r\n\r\n")


async def test_a_stream_sends_its_head_before_anything_happens() -> None:
    go_on = asyncio.Event()

    async def stream(request: Request) -> Answer:
        opened = request.open_stream(PLAIN)
        await go_on.wait()
        opened.write(b"one\n")
        opened.end()
        return Streamed()

    async with serving(stream) as (reader, writer):
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        head = await reader.readuntil(b"\r\n\r\n")
        go_on.set()

        assert b"Transfer-Encoding: chunked" in head
        assert await reader.readuntil(b"0\r\n\r\n") == b"4\r\none\n\r\n0\r\n\r\n"


async def test_a_stream_for_an_old_client_ends_with_the_connection() -> None:
    async def stream(request: Request) -> Answer:
        opened = request.open_stream(PLAIN)
        opened.write(b"one\n")
        opened.end()
        return Streamed()

    async with serving(stream) as (reader, writer):
        writer.write(b"GET / HTTP/1.0\r\n\r\n")

        assert (await reader.read()).endswith(b"\r\n\r\none\n")


async def test_a_client_that_leaves_ends_its_handler() -> None:
    ended = asyncio.Event()
    begun = asyncio.Event()

    async def wait(request: Request) -> Answer:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return Response(200, PLAIN)

    async with serving(wait) as (_, writer):
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        await begun.wait()
        writer.close()

        await asyncio.wait_for(ended.wait(), 60)


async def test_a_connection_that_waits_is_closed_properly_when_the_server_ends() -> None:
    """A client that is cut off cannot tell it from an answer that was lost."""
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority = trustme.CA()
    authority.issue_cert("127.0.0.1").configure_cert(tls)
    trusting = ssl.create_default_context()
    authority.configure_trust(trusting)

    def asked(port: int) -> ssl.SSLSocket:
        plain = socket.create_connection(("127.0.0.1", port), timeout=60)
        client = trusting.wrap_socket(
            plain, server_hostname="127.0.0.1", suppress_ragged_eofs=False
        )
        client.sendall(b"GET /a HTTP/1.1\r\nHost: x\r\n\r\n")
        while b"GET /a " not in client.recv(4096):
            pass
        return client

    async with HttpServer(echo, SystemClock(), tls=tls).run() as server:
        client = await asyncio.to_thread(asked, server.port)

    with client:
        assert await asyncio.to_thread(client.recv, 1) == b""  # else: SSLEOFError


async def test_a_body_that_comes_after_its_head_is_awaited() -> None:
    async with serving(echo) as (reader, writer):
        writer.write(b"POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 6\r\n\r\n")
        for piece in (b"on", b"e", b"two"):
            await writer.drain()
            await asyncio.to_thread(lambda: None)  # the server sees each by itself
            writer.write(piece)
        writer.write(b"GET /b HTTP/1.1\r\nHost: x\r\n\r\n")

        found = b""
        while b"GET /b " not in found:
            found += await reader.read(4096)

    assert b"POST /a  onetwo" in found


async def test_a_connection_may_turn_unusual_in_the_middle_and_stays_in_order() -> None:
    plain = b"GET /%d HTTP/1.1\r\nHost: x\r\n\r\n"
    chunked = (
        b"POST /%d HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
    )
    async with serving(echo) as (reader, writer):
        writer.write(b"".join((chunked if n % 3 == 2 else plain) % n for n in range(30)))

        found = b""
        while b"POST /29  abc" not in found:
            found += await reader.read(4096)

    places = [found.index(b" /%d " % n) for n in range(30)]
    assert places == sorted(places)
    assert found.count(b"HTTP/1.1 200 OK") == 30


async def test_a_large_body_arrives_whole_though_it_is_read_late() -> None:
    go_on = asyncio.Event()

    async def late(request: Request) -> Answer:
        await go_on.wait()
        return Response(200, PLAIN, str(len(await request.read_body(1 << 24))).encode())

    async with serving(late) as (reader, writer):
        body = b"x" * (4 << 20)
        writer.write(b"PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        go_on.set()

        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200")
        assert await reader.readexactly(7) == b"4194304"


async def test_what_a_client_does_not_read_waits_where_it_is_counted() -> None:
    """The kernel would take megabytes of it, and nobody would notice that it is slow."""
    buffered: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    async def stream(request: Request) -> Answer:
        opened = request.open_stream(PLAIN)
        for _ in range(64):
            opened.write(bytes(64 * 1024))
            await asyncio.sleep(0)
        buffered.set_result(opened.buffered)
        opened.abort()
        return Streamed(keep_alive=False)

    async with HttpServer(stream, SystemClock()).run() as server:
        with socket.socket() as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 * 1024)
            client.connect(("127.0.0.1", server.port))
            client.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")

            assert await buffered > 3 * 1024 * 1024


async def test_of_many_plain_connections_a_few_are_accepted_in_each_turn_of_the_loop() -> None:
    async with HttpServer(echo, SystemClock()).run() as server:
        clients = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(100)]

        accepted, most = 0, 0
        async with asyncio.timeout(60):
            while accepted < len(clients):
                await asyncio.sleep(0)
                now = len(server.connections)
                accepted, most = now, max(most, now - accepted)

        for client in clients:
            client.close()
    assert most <= 2 * ACCEPTED_PER_TURN
