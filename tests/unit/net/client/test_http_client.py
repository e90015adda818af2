"""Connections: proxies, compression, retirement, and what the library's failures become."""

from __future__ import annotations

import asyncio
import gzip
import socket
import ssl
import threading
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager

import aiohttp
import pytest
import trustme

from proreus.net.client import transport_error
from proreus.net.client.connectors import Route, open_socket
from proreus.net.client.http_client import HttpClient
from proreus.net.client.translation import translate
from proreus.net.client.transport_error import (
    ConnectFailed,
    ConnectionLost,
    ProtocolError,
    TransportError,
    TransportTimeout,
)
from tests.unit.client.scripted_server import ScriptedServer, answer, hang, stream


async def test_a_compressed_answer_is_unpacked_and_asking_for_one_can_be_off() -> None:
    packed = gzip.compress(b"text" * 1000)
    steps = [answer(200, packed, Content_Encoding="gzip"), answer(200, b"text")]
    async with ScriptedServer(steps).running() as server:
        async with HttpClient(Route()) as http:
            response = await http.request("GET", server.url, {}, None)
        async with HttpClient(Route(compressed=False)) as http:
            await http.request("GET", server.url, {}, None)

    assert response.body == b"text" * 1000
    asked = [one.headers["accept-encoding"] for one in server.requests]
    assert asked == ["gzip", "identity"]


async def test_header_names_are_of_any_case_and_may_repeat() -> None:
    async with (
        ScriptedServer([answer(200, X_Two="a")]).running() as server,
        HttpClient(Route()) as http,
    ):
        response = await http.request("GET", server.url, {"X-Many": ["1", "2"]}, None)

    assert response.headers.get("x-TWO") == "a"
    assert response.headers.get("missing", "none") == "none"
    assert [v for n, v in server.requests[0].all_headers if n == "x-many"] == ["1", "2"]
    assert "x-two" in repr(response.headers)


@asynccontextmanager
async def connect_proxy(answer_line: bytes) -> AsyncIterator[tuple[str, list[bytes]]]:
    """A proxy that knows only CONNECT."""
    asked: list[bytes] = []
    tasks: set[asyncio.Task[None]] = set()

    async def copy(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        try:
            while data := await source.read(65536):
                sink.write(data)
        except OSError:
            pass
        finally:
            sink.close()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        head = await reader.readuntil(b"\r\n\r\n")
        asked.append(head.split(b"\r\n")[0])
        writer.write(answer_line + b"\r\n\r\n")
        if b" 200 " in answer_line:
            host, _, port = head.split(b" ")[1].decode().rpartition(":")
            onward = await asyncio.open_connection(host, int(port))
            await asyncio.gather(copy(reader, onward[1]), copy(onward[0], writer))
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", asked
        server.close()
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_a_proxy_is_used_for_tls_too() -> None:
    ca = trustme.CA()
    ours, theirs = ssl.create_default_context(), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    ca.configure_trust(ours)
    ca.issue_cert("127.0.0.1").configure_cert(theirs)
    async with (
        ScriptedServer([answer(200, b"ok")]).running(theirs) as server,
        connect_proxy(b"HTTP/1.1 200 OK") as (proxy, asked),
        HttpClient(Route(ssl=ours, proxy=proxy)) as http,
    ):
        response = await http.request("GET", f"{server.url}/x", {}, None)

    assert response.body == b"ok"
    assert asked == [f"CONNECT {server.url.removeprefix('https://')} HTTP/1.1".encode()]


async def test_a_proxy_that_refuses_is_named() -> None:
    async with (
        connect_proxy(b"HTTP/1.1 407 Proxy Authentication Required") as (proxy, _),
        HttpClient(Route(proxy=proxy)) as http,
    ):
        with pytest.raises(ConnectFailed, match="the proxy answered 407"):
            await http.request("GET", "https://127.0.0.1:1/x", {}, None)


async def test_retiring_ends_streams_and_lets_requests_finish() -> None:
    may_answer = asyncio.Event()

    async def slowly(received: object, connection: object) -> None:
        await may_answer.wait()
        await answer(200, b"late")(received, connection)  # type: ignore[arg-type]

    async with ScriptedServer([stream([b"x"], then="hang"), slowly]).running() as server:
        http = HttpClient(Route())
        async with http.stream("GET", server.url, {}, None) as watching:
            assert await watching.next_chunk() == b"x"
            async with asyncio.TaskGroup() as tasks:
                asking = tasks.create_task(http.request("GET", server.url, {}, None))
                await server.wait_requests(2)
                await http.retire()
                with pytest.raises(ConnectionLost):
                    await watching.next_chunk()
                may_answer.set()
            assert asking.result().body == b"late"
        with pytest.raises(ConnectionLost, match="closed"):
            await http.request("GET", server.url, {}, None)


async def test_closing_ends_what_is_under_way() -> None:
    async with ScriptedServer([hang()]).running() as server:
        http = HttpClient(Route())

        async def outcome() -> TransportError | None:
            try:
                await http.request("GET", server.url, {}, None)
            except TransportError as error:
                return error
            return None

        async with asyncio.TaskGroup() as tasks:
            asking = tasks.create_task(outcome())
            await server.wait_requests(1)
            await http.close()

    assert isinstance(asking.result(), ConnectionLost)


@contextmanager
def server_that_never_says_good_bye() -> Iterator[tuple[str, ssl.SSLContext]]:
    """Begins an answer over TLS, and then neither reads nor closes."""
    ca = trustme.CA()
    ours, theirs = ssl.create_default_context(), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    ca.configure_trust(ours)
    ca.issue_cert("127.0.0.1").configure_cert(theirs)
    is_over = threading.Event()

    def serve() -> None:
        accepted, _ = listener.accept()
        with theirs.wrap_socket(accepted, server_side=True) as connection:
            connection.recv(65536)
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nx")
            is_over.wait()

    with socket.create_server(("127.0.0.1", 0)) as listener, ThreadPoolExecutor() as threads:
        serving = threads.submit(serve)
        try:
            yield f"https://127.0.0.1:{listener.getsockname()[1]}", ours
        finally:
            is_over.set()
    serving.result()


def test_a_stream_left_before_the_client_is_closed_leaves_no_connection_open() -> None:
    async def open_at_the_end(url: str, trust: ssl.SSLContext) -> list[object]:
        async with (
            HttpClient(Route(ssl=trust)) as http,
            http.stream("GET", url, {}, None) as answered,
        ):
            assert await answered.next_chunk() == b"x"
        for _ in range(3):  # turns, in which the loop closes what was aborted
            await asyncio.sleep(0)
        transports = asyncio.get_running_loop()._transports  # type: ignore[attr-defined]
        return [one for one in transports.values() if one._sock is not None]

    with server_that_never_says_good_bye() as (url, trust):
        assert asyncio.run(open_at_the_end(url, trust)) == []


async def test_a_name_nobody_knows_cannot_be_connected_to() -> None:
    async with HttpClient(Route()) as http:
        with pytest.raises(ConnectFailed):
            await http.request("GET", "http://no-such-host.invalid/", {}, None)


def test_sockets_notice_dead_peers() -> None:
    address = (socket.AF_INET, socket.SOCK_STREAM, 0, "", ("127.0.0.1", 1))
    with open_socket(address) as opened:
        assert opened.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        assert opened.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) == 30
        assert opened.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 75_000


@pytest.mark.parametrize(
    ("failure", "kind"),
    [
        (aiohttp.ConnectionTimeoutError(), TransportTimeout),
        (TimeoutError(), TransportTimeout),
        (aiohttp.ClientPayloadError(), ConnectionLost),
        (aiohttp.ServerDisconnectedError(), ConnectionLost),
        (ConnectionResetError(), ConnectionLost),
        (aiohttp.InvalidURL("x"), ProtocolError),
        (OSError("odd"), ConnectionLost),
    ],
)
def test_the_librarys_failures_become_ours(failure: Exception, kind: type[TransportError]) -> None:
    found = translate("http://h/x", failure)

    assert type(found) is kind
    assert str(found).startswith("http://h/x: ")


def test_our_failures_survive_pickling() -> None:
    import pickle

    error = transport_error.StreamSilent("http://h", "silent")

    assert str(pickle.loads(pickle.dumps(error))) == str(error)
