"""Connections: proxies, compression, retirement."""

from __future__ import annotations

import asyncio
import base64
import gzip
import socket
import ssl
import threading
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import pytest
import trustme

from proreus.net.client import transport_error
from proreus.net.client.connectors import Route, open_socket
from proreus.net.client.http_client import HttpClient
from proreus.net.client.transport_error import (
    ConnectFailed,
    ConnectionLost,
    TransportError,
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
async def forwarding_proxy(
    answer_line: bytes = b"HTTP/1.1 200 OK", tls: ssl.SSLContext | None = None
) -> AsyncIterator[tuple[str, list[bytes]]]:
    """A proxy that knows only CONNECT; its URL and the heads it was sent."""
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
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            asked.append(head)
            writer.write(answer_line + b"\r\n\r\n")
            if b" 200 " in answer_line:
                host, _, port = head.split(b" ")[1].decode().rpartition(":")
                onward = await asyncio.open_connection(host, int(port))
                await asyncio.gather(copy(reader, onward[1]), copy(onward[0], writer))
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls)
    async with server:
        scheme = "http" if tls is None else "https"
        yield f"{scheme}://127.0.0.1:{server.sockets[0].getsockname()[1]}", asked
        server.close()
    await asyncio.gather(*tasks, return_exceptions=True)


def contexts() -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """Of a client, and of a server that it trusts."""
    ca = trustme.CA()
    ours, theirs = ssl.create_default_context(), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    ca.configure_trust(ours)
    ca.issue_cert("127.0.0.1").configure_cert(theirs)
    return ours, theirs


@pytest.mark.parametrize("is_secure", [False, True])
async def test_a_proxy_is_used_for_tls_too(*, is_secure: bool) -> None:
    ours, theirs = contexts()
    async with (
        ScriptedServer([answer(200, b"ok")], repeats=True).running(theirs) as server,
        forwarding_proxy(tls=theirs if is_secure else None) as (proxy, asked),
        HttpClient(Route(ssl=ours, proxy=proxy.replace("//", "//me:p%40ss@"))) as http,
    ):
        found = [await http.request("PUT", f"{server.url}/x", {}, b"a" * 100_000) for _ in range(2)]

    host = server.url.removeprefix("https://")
    credentials = base64.b64encode(b"me:p@ss").decode()
    assert [one.body for one in found] == [b"ok", b"ok"]
    lines = [f"CONNECT {host} HTTP/1.1", f"Host: {host}"]
    expected = [*lines, f"Proxy-Authorization: Basic {credentials}", "", ""]
    assert asked == ["\r\n".join(expected).encode()]
    assert "proxy-authorization" not in server.requests[0].headers


async def test_a_plain_request_names_its_whole_url_to_a_proxy() -> None:
    async with (
        ScriptedServer([answer(200, b"ok")]).running() as proxy,
        HttpClient(Route(proxy=proxy.url.replace("//", "//me:secret@"))) as http,
    ):
        response = await http.request("GET", "http://somewhere.invalid:81/x?y=z", {}, None)

    assert response.body == b"ok"
    (asked,) = proxy.requests
    assert asked.target == "http://somewhere.invalid:81/x?y=z"
    assert asked.headers["host"] == "somewhere.invalid:81"
    assert asked.headers["proxy-authorization"].startswith("Basic ")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b"HTTP/1.1 407 Proxy Authentication Required", "the proxy answered 407"),
        (b"SSH-2.0", "the proxy answered what is no HTTP"),
        (b"HTTP/1.1 200 OK\r\n\r\nand more", "the proxy answered more"),
    ],
)
async def test_a_proxy_that_refuses_is_named(line: bytes, said: str) -> None:
    async with (
        forwarding_proxy(line.replace(b" 200 ", b" 200  ")) as (proxy, _),
        HttpClient(Route(proxy=proxy)) as http,
    ):
        with pytest.raises(ConnectFailed, match=said):
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
    ours, theirs = contexts()
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


def connections_to(url: str) -> list[str]:
    """Those of this process that lead there."""
    port = f"{int(url.rpartition(':')[2]):04X}"
    mine = {_target(fd) for fd in Path("/proc/self/fd").iterdir()}
    rows = [line.split() for line in Path("/proc/self/net/tcp").read_text().splitlines()[1:]]
    return [row[1] for row in rows if row[2].endswith(f":{port}") and f"socket:[{row[9]}]" in mine]


def _target(fd: Path) -> str:
    try:
        return str(fd.readlink())
    except OSError:  # the folder's own, closed by now
        return ""


def test_a_stream_left_before_the_client_is_closed_leaves_no_connection_open() -> None:
    async def open_at_the_end(url: str, trust: ssl.SSLContext) -> list[str]:
        async with (
            HttpClient(Route(ssl=trust)) as http,
            http.stream("GET", url, {}, None) as answered,
        ):
            assert await answered.next_chunk() == b"x"
            assert connections_to(url)
        return connections_to(url)

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


def test_our_failures_survive_pickling() -> None:
    import pickle

    error = transport_error.StreamSilent("http://h", "silent")

    assert str(pickle.loads(pickle.dumps(error))) == str(error)
