"""Servers that break off, talk nonsense or answer too early, and callers that leave: what becomes
of the request and of its connection."""

from __future__ import annotations

import asyncio
import gzip
import socket
import ssl
import zlib
from contextlib import AsyncExitStack

import pytest
import trustme

from proreus.net.client.connectors import Route
from proreus.net.client.http_client import HttpClient
from proreus.net.client.transport_error import (
    AddressNotAllowed,
    ConnectFailed,
    ConnectionLost,
    ConnectionRefused,
    NotPermitted,
    ProtocolError,
    TlsFailed,
    TransportError,
    TransportTimeout,
)
from tests.unit.client.scripted_server import (
    Connection,
    Received,
    ScriptedServer,
    Step,
    answer,
    hang,
    reset,
    stream,
)

HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"


def says(*pieces: bytes, then: str = "close") -> Step:
    async def step(_: Received, connection: Connection) -> None:
        for piece in pieces:
            await connection.send(piece)
        if then == "close":
            connection.writer.close()
            await connection.reader.read()
        elif then == "reset":
            connection.reset()

    return step


async def asked(steps: list[Step], method: str = "GET") -> TransportError | None:
    async with ScriptedServer(steps).running() as server, HttpClient(Route()) as http:
        try:
            await http.request(method, server.url, {}, None)
        except TransportError as error:
            return error
    return None


@pytest.mark.parametrize(
    ("step", "kind"),
    [
        (says(), ConnectionLost),
        (reset(), ConnectionLost),
        (says(b"HTTP/1.1 200"), ConnectionLost),
        (says(HEAD), ConnectionLost),
        (says(HEAD + b"hel"), ConnectionLost),
        (says(HEAD + b"hel", then="reset"), ConnectionLost),
        (stream([b"hel"], then="reset"), ConnectionLost),
        (says(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhe"), ConnectionLost),
        (says(b"\x16\x03\x01"), ProtocolError),
        (says(b"SSH-2.0-OpenSSH\r\n"), ProtocolError),
        (says(b"HTTP/1.1 200 OK\r\nA b\r\n\r\n"), ProtocolError),
        (says(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nhel"), ProtocolError),
    ],
)
async def test_what_is_cut_is_lost_and_what_is_no_http_is_refused(
    step: Step, kind: type[TransportError]
) -> None:
    assert type(await asked([step])) is kind


@pytest.mark.parametrize("method", ["GET", "PUT"])
async def test_nothing_that_was_sent_is_sent_again(method: str) -> None:
    steps = [answer(200, b"first"), reset(), answer(200, b"never")]
    async with ScriptedServer(steps).running() as server, HttpClient(Route()) as http:
        await http.request(method, server.url, {}, b"x")
        with pytest.raises(ConnectionLost):
            await http.request(method, server.url, {}, b"x")

    assert len(server.requests) == 2
    assert server.connections == 1


async def test_a_connection_carries_one_request_after_another() -> None:
    steps = [answer(200, b"a"), stream([b"b", b"c"]), answer(404, b"d"), answer(204)]
    async with ScriptedServer(steps).running() as server, HttpClient(Route()) as http:
        found = [(await http.request("GET", server.url, {}, None)).body for _ in range(3)]
        assert (await http.request("HEAD", server.url, {}, None)).status == 204

    assert found == [b"a", b"bc", b"d"]
    assert server.connections == 1


async def test_a_stream_that_was_read_to_its_end_leaves_its_connection_to_the_next() -> None:
    async with (
        ScriptedServer([stream([b"b"])] * 2).running() as server,
        HttpClient(Route()) as http,
    ):
        for _ in range(2):
            async with http.stream("GET", server.url, {}, None) as opened:
                assert await opened.read() == b"b"

    assert server.connections == 1


@pytest.mark.parametrize(
    "step",
    [
        answer(200, b"a", Connection="close"),
        says(b"HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\na", then="nothing"),
        says(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\naHTTP", then="nothing"),
    ],
)
async def test_a_connection_that_ends_with_its_answer_is_not_used_again(step: Step) -> None:
    async with (
        ScriptedServer([step, answer(200, b"b")]).running() as server,
        HttpClient(Route()) as http,
    ):
        assert (await http.request("GET", server.url, {}, None)).body == b"a"
        assert (await http.request("GET", server.url, {}, None)).body == b"b"

    assert server.connections == 2


async def test_a_kept_connection_that_the_server_closed_is_not_used() -> None:
    closed = asyncio.Event()

    async def closing(received: Received, connection: Connection) -> None:
        await answer(200, b"a")(received, connection)
        connection.writer.close()
        await connection.writer.wait_closed()
        closed.set()

    async with (
        ScriptedServer([closing, answer(200, b"b")]).running() as server,
        HttpClient(Route()) as http,
    ):
        await http.request("GET", server.url, {}, None)
        await closed.wait()
        await until_over(http)
        assert (await http.request("GET", server.url, {}, None)).body == b"b"


async def test_after_a_loop_stood_still_a_write_does_not_meet_a_connection_that_timed_out() -> None:
    async with (
        ScriptedServer([answer(200, b"first"), answer(200, b"second")]).running() as server,
        HttpClient(Route()) as http,
    ):
        await http.request("GET", server.url, {}, None)
        (waiting,) = http._pool._idle.values()
        waiting[:] = [(connection, since - 180.0) for connection, since in waiting]
        assert (await http.request("POST", server.url, {}, b"{}")).body == b"second"

    assert server.connections == 2


async def until_over(http: HttpClient) -> None:
    """Until its one idle connection has seen its end."""
    (((idle, _),),) = http._pool._idle.values()
    async with asyncio.timeout(60):
        while idle.is_reusable:  # noqa: ASYNC110  # it has no event: nobody waits for it
            await asyncio.sleep(0)


@pytest.mark.parametrize(
    "begun", [b"", b"HTTP/1.1 200", HEAD, HEAD + b"hel", b"HTTP/1.1 100 Continue\r\n\r\n"]
)
async def test_a_caller_that_leaves_leaves_no_half_used_connection(begun: bytes) -> None:
    sent = asyncio.Event()

    async def slowly(_: Received, connection: Connection) -> None:
        await connection.send(begun)
        sent.set()
        await connection.reader.read()

    async with (
        ScriptedServer([slowly, answer(200, b"mine")]).running() as server,
        HttpClient(Route()) as http,
    ):
        asking = asyncio.create_task(http.request("GET", server.url, {}, None))
        await sent.wait()
        asking.cancel()
        await asyncio.wait([asking])
        assert repr(http._pool) == "<Pool: 0 used, 0 idle>"
        assert (await http.request("GET", server.url, {}, None)).body == b"mine"

    assert server.connections == 2


async def test_a_server_may_answer_before_it_has_read_the_request() -> None:
    """As one does that finds the body too long: it reads on for a while, and closes."""
    answered = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno")
        await writer.drain()
        await answered.wait()
        writer.transport.abort()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server, HttpClient(Route()) as http:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        found = await http.request("PUT", url, {}, bytes(20_000_000))
        idle = repr(http._pool)
        answered.set()

    assert (found.status, found.body) == (413, b"no")
    assert idle == "<Pool: 0 used, 0 idle>"  # the rest of the body would be the next request


async def test_interim_answers_are_passed_over() -> None:
    step = says(b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 102 X\r\nA: b\r\n\r\n", HEAD, b"hello")

    async with ScriptedServer([step]).running() as server, HttpClient(Route()) as http:
        assert (await http.request("PUT", server.url, {}, b"x")).body == b"hello"


async def test_a_body_without_a_length_ends_with_the_connection() -> None:
    async with (
        ScriptedServer([says(b"HTTP/1.1 200 OK\r\n\r\n", b"hel", b"lo")]).running() as server,
        HttpClient(Route()) as http,
    ):
        assert (await http.request("GET", server.url, {}, None)).body == b"hello"


async def test_an_answer_that_is_too_long_is_refused_and_its_connection_closed() -> None:
    async with (
        ScriptedServer([answer(200, bytes(100_000))]).running() as server,
        HttpClient(Route()) as http,
    ):
        with pytest.raises(ProtocolError, match="more than 10 bytes"):
            await http.request("GET", server.url, {}, None, answer_bytes_max=10)


async def test_a_watch_in_gzip_is_unpacked_event_by_event() -> None:
    packing = zlib.compressobj(wbits=31)
    packed = [packing.compress(b"event") + packing.flush(zlib.Z_SYNC_FLUSH) for _ in range(3)]

    async def step(_: Received, connection: Connection) -> None:
        await connection.send(
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Encoding: gzip\r\n\r\n"
        )
        for piece in packed:
            await connection.send(b"%x\r\n%b\r\n" % (len(piece), piece))
        await connection.reader.read()

    async with (
        ScriptedServer([step]).running() as server,
        HttpClient(Route()) as http,
        http.stream("GET", server.url, {}, None) as opened,
    ):
        found = b""
        while len(found) < 15:
            found += await opened.next_chunk()

    assert found == b"event" * 3


async def test_a_body_that_is_no_gzip_is_refused_unless_it_is_left_as_it_came() -> None:
    steps = [answer(200, b"no gzip", Content_Encoding="gzip")] * 2
    async with ScriptedServer(steps).running() as server:
        async with HttpClient(Route()) as http:
            with pytest.raises(ProtocolError, match="not gzip"):
                await http.request("GET", server.url, {}, None)
        async with HttpClient(Route(decompress=False)) as http:
            assert (await http.request("GET", server.url, {}, None)).body == b"no gzip"


async def test_a_bomb_of_gzip_is_refused_before_it_is_unpacked() -> None:
    bomb = gzip.compress(bytes(20_000_000))
    async with (
        ScriptedServer([answer(200, bomb, Content_Encoding="gzip")]).running() as server,
        HttpClient(Route()) as http,
    ):
        with pytest.raises(ProtocolError, match="more than"):
            await http.request("GET", server.url, {}, None, answer_bytes_max=100_000)


async def test_a_request_waits_for_its_turn_and_streams_do_not_count() -> None:
    async with (
        ScriptedServer([hang()], repeats=True).running() as server,
        AsyncExitStack() as open_,
    ):
        http = await open_.enter_async_context(HttpClient(Route()))
        asking = [
            asyncio.create_task(http.request("GET", server.url, {}, None)) for _ in range(101)
        ]
        await server.wait_requests(100)
        server.steps[:] = [stream([b"x"], then="hang"), answer(200, b"last")]
        watching = await open_.enter_async_context(http.stream("GET", server.url, {}, None))
        assert await watching.next_chunk() == b"x"
        assert len(server.requests) == 101

        asking[0].cancel()

        assert (await asking[100]).body == b"last"
        for one in asking:
            one.cancel()
        await asyncio.wait(asking)


async def test_a_write_that_is_not_permitted_is_not_sent_and_its_connection_stays() -> None:
    may_write = True
    async with (
        ScriptedServer([answer(200)], repeats=True).running() as server,
        HttpClient(Route(permit=lambda: may_write)) as http,
    ):
        await http.request("PUT", server.url, {}, b"1")
        may_write = False
        with pytest.raises(NotPermitted):
            await http.request("PUT", server.url, {}, b"2")
        await http.request("GET", server.url, {}, None)

    assert [one.method for one in server.requests] == ["PUT", "GET"]
    assert server.connections == 1


async def test_an_address_that_is_forbidden_is_not_connected_to() -> None:
    forbidden: list[tuple[str, int]] = []

    def forbid(host: str, port: int) -> bool:
        forbidden.append((host, port))
        return True

    async with (
        ScriptedServer([answer(200)]).running() as server,
        HttpClient(Route(forbid=forbid)) as http,
    ):
        port = int(server.url.rpartition(":")[2])
        for url in (server.url, f"http://localhost:{port}"):
            with pytest.raises(AddressNotAllowed):
                await http.request("GET", url, {}, None)

    assert server.connections == 0
    assert ("127.0.0.1", port) in forbidden


async def test_nobody_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    async with HttpClient(Route()) as http:
        with pytest.raises(ConnectionRefused):
            await http.request("GET", f"http://127.0.0.1:{port}", {}, None)


async def test_a_server_that_accepts_and_says_nothing_in_the_handshake_is_given_up() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"https://127.0.0.1:{silent.getsockname()[1]}"
        async with HttpClient(Route(connect_timeout_s=0.05)) as http:
            with pytest.raises(TransportTimeout, match="no connection"):
                await http.request("GET", url, {}, None)


async def test_a_handshake_that_is_cut_is_not_the_same_as_no_tls() -> None:
    async def cutting(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(100)
        writer.close()

    async def talking(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(100)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await writer.drain()
        writer.close()

    found = []
    for serve in (cutting, talking):
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        async with server, HttpClient(Route()) as http:
            url = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"
            with pytest.raises(ConnectFailed) as failed:
                await http.request("GET", url, {}, None)
            found.append(type(failed.value))

    assert found == [ConnectFailed, TlsFailed]


def contexts() -> tuple[ssl.SSLContext, ssl.SSLContext]:
    ca = trustme.CA()
    ours, theirs = ssl.create_default_context(), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    ca.configure_trust(ours)
    ca.issue_cert("127.0.0.1", "a.example").configure_cert(theirs)
    return ours, theirs


async def test_the_server_must_have_the_name_that_was_asked_for() -> None:
    ours, theirs = contexts()
    async with ScriptedServer([answer(200)] * 3, repeats=True).running(theirs) as server:
        for name, is_right in ((None, True), ("a.example", True), ("b.example", False)):
            async with HttpClient(Route(ssl=ours, server_hostname=name)) as http:
                if is_right:
                    assert (await http.request("GET", server.url, {}, None)).status == 200
                else:
                    with pytest.raises(TlsFailed, match=r"TLS: .*[Hh]ostname mismatch"):
                        await http.request("GET", server.url, {}, None)
        async with HttpClient(Route()) as http:
            with pytest.raises(TlsFailed, match=r"TLS: .*certificate"):
                await http.request("GET", server.url, {}, None)


async def test_further_connections_resume_the_session_of_the_first() -> None:
    ours, theirs = contexts()
    async with (
        ScriptedServer([stream([b"x"], then="hang")], repeats=True).running(theirs) as server,
        HttpClient(Route(ssl=ours)) as http,
        AsyncExitStack() as opened,
    ):
        resumed = []
        for _ in range(3):
            watching = await opened.enter_async_context(http.stream("GET", server.url, {}, None))
            assert await watching.next_chunk() == b"x"
            transport = watching.connection.transport
            assert transport is not None
            resumed.append(transport.get_extra_info("ssl_object").session_reused)

    assert resumed == [False, True, True]


def to(location: str, status: int = 302) -> Step:
    return answer(status, b"elsewhere", Location=location)


async def test_a_get_follows_redirects_and_others_do_not() -> None:
    steps = [to("/b"), to("c?d=e", 307), answer(200, b"there"), to("/b"), to("/b")]
    async with ScriptedServer(steps).running() as server:
        async with HttpClient(Route()) as http:
            found = await http.request("GET", f"{server.url}/a/", {"Authorization": "x"}, None)
            assert (await http.request("PUT", server.url, {}, b"")).status == 302
        async with HttpClient(Route(follow_redirects=False)) as http:
            assert (await http.request("GET", server.url, {}, None)).status == 302

    assert found.body == b"there"
    assert [one.target for one in server.requests[:3]] == ["/a/", "/b", "/c?d=e"]
    assert {one.headers.get("authorization") for one in server.requests[:3]} == {"x"}


async def test_a_redirect_to_another_server_takes_no_credentials_along() -> None:
    async with (
        ScriptedServer([answer(200, b"there")]).running() as other,
        ScriptedServer([to(f"{other.url}/x")]).running() as server,
        HttpClient(Route()) as http,
    ):
        headers = {"Authorization": "secret", "Accept": "a"}
        assert (await http.request("GET", server.url, headers, None)).body == b"there"

    assert "authorization" not in other.requests[0].headers
    assert other.requests[0].headers["accept"] == "a"


@pytest.mark.parametrize("location", ["/again", "ftp://h/", "http://"])
async def test_a_redirect_that_leads_nowhere_is_an_error(location: str) -> None:
    async with (
        ScriptedServer([to(location)], repeats=True).running() as server,
        HttpClient(Route()) as http,
    ):
        with pytest.raises(ProtocolError):
            await http.request("GET", server.url, {}, None)
        assert "0 used" in repr(http._pool)


@pytest.mark.parametrize(
    "url",
    ["ftp://h/", "http:///x", "http://h:99999/", "http://h/a b", "http://h/é", "h", "http://[::1/"],
)
async def test_a_url_that_names_nothing_is_refused(url: str) -> None:
    async with HttpClient(Route()) as http:
        with pytest.raises(ProtocolError):
            await http.request("GET", url, {}, None)


@pytest.mark.parametrize(
    ("method", "headers"),
    [
        ("GET", {"A": "b\r\nC: d"}),
        ("GET", {"A": "b\nC: d"}),
        ("GET", {"A": ["b", "c\r\nD: e"]}),
        ("GET", {"A b": "c"}),
        ("GET", {"A: b\r\nC": "d"}),
        ("GET / HTTP/1.1\r\nA: b\r\n\r\nGET", {}),
    ],
)
async def test_nothing_can_be_smuggled_into_a_request(
    method: str, headers: dict[str, str | list[str]]
) -> None:
    async with (
        ScriptedServer([answer(200)], repeats=True).running() as server,
        HttpClient(Route()) as http,
    ):
        for _ in range(2):
            with pytest.raises(ValueError, match=r"header|method"):
                await http.request(method, server.url, headers, None)

    assert not server.requests


async def test_requests_say_what_their_callers_leave_out() -> None:
    own = {"host": "elsewhere", "User-Agent": "me", "accept-encoding": "br", "Content-Length": "9"}
    async with (
        ScriptedServer([answer(200)], repeats=True).running() as server,
        HttpClient(Route()) as http,
    ):
        await http.request("GET", f"{server.url}?x=y#z", {}, None)
        await http.request("DELETE", f"{server.url}/", {}, None)
        await http.request("POST", server.url.replace("//", "//u:p%20w@"), own, b"abc")

    first, second, third = server.requests
    assert (first.target, first.headers["host"]) == ("/?x=y", server.url.removeprefix("http://"))
    assert "content-length" not in first.headers
    assert second.headers["content-length"] == "0"
    assert third.body == b"abc"
    named = {name: third.headers[name] for name in ("host", "user-agent", "accept-encoding")}
    assert named == {"host": "elsewhere", "user-agent": "me", "accept-encoding": "br"}
    assert third.headers["authorization"] == "Basic dTpwIHc="


async def test_a_given_socket_is_the_only_connection() -> None:
    ours, theirs = socket.socketpair()

    async def serve() -> bytes:
        reader, writer = await asyncio.open_connection(sock=theirs)
        asked = await reader.readuntil(b"\r\n\r\n")
        writer.write(HEAD + b"hello")
        await reader.read()
        writer.close()
        return asked

    serving = asyncio.create_task(serve())
    async with HttpClient(Route(given=ours)) as http:
        found = await http.request("GET", "http://pod:80/x", {}, None)
    asked_ = await serving

    assert found.body == b"hello"
    assert asked_.startswith(b"GET /x HTTP/1.1\r\nHost: pod\r\n")


async def test_tls_runs_over_a_given_socket_too() -> None:
    ours, theirs = socket.socketpair()
    trust, context = contexts()
    body = bytes(range(256)) * 400

    received: list[bytes] = []

    async def respond(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        received.append(await reader.readexactly(len(body)))
        writer.write(HEAD + b"hello")
        await reader.read()
        writer.close()

    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    protocol = asyncio.StreamReaderProtocol(reader, respond)
    accepting = asyncio.create_task(
        loop.connect_accepted_socket(lambda: protocol, theirs, ssl=context)
    )
    async with HttpClient(Route(given=ours, ssl=trust)) as http:
        found = await http.request("PUT", "https://127.0.0.1/x", {}, body)
    await accepting

    assert found.body == b"hello"
    assert received == [body]
