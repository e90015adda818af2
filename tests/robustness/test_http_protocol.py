"""A connection that breaks HTTP's rules is answered or dropped, and only that connection."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass

import pytest

from proreus.net.http1.messages import Request, Response
from proreus.net.http1.server import HttpServer
from proreus.server.app import ApiServer
from proreus.server.config import ServerConfig
from proreus.testing.virtual_clock import VirtualClock
from tests.robustness.wire import (
    CONFIG_MAPS,
    Answer,
    Connection,
    ask,
    assert_alive,
    config_map,
    connected,
    names,
    until,
)

SENDING = 'apiserver_current_inqueue_requests{request_kind="mutating"}'
CHUNKED = [("Transfer-Encoding", "chunked")]
LASTING = pytest.mark.asyncio(loop_scope="module")  # with lasting_server


@dataclass(frozen=True, slots=True)
class Bare:
    """An HTTP server without the API around it."""

    url: str
    token: str = ""


GARBAGE = {
    "random bytes": b"\x00\x01\x02\xff\xfe\r\n\r\n",
    "a TLS hello": bytes.fromhex("16030100f8010000f40303") + bytes(200) + b"\r\n\r\n",
    "an HTTP/2 preface": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "HTTP/9.9": b"GET /readyz HTTP/9.9\r\n\r\n",
    "a header without a colon": b"GET /readyz HTTP/1.1\r\nHost\r\n\r\n",
    "a space in a header's name": b"GET /readyz HTTP/1.1\r\nHo st: x\r\n\r\n",
    "a folded header": b"GET /readyz HTTP/1.1\r\nA: b\r\n c\r\n\r\n",
    "a NUL in a header": b"GET /readyz HTTP/1.1\r\nA: \x00\r\n\r\n",
    "a lone carriage return": b"GET /readyz HTTP/1.1\r\nA: b\rC: d\r\n\r\n",
    "a negative length": b"POST /x HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
    "a length that is text": b"POST /x HTTP/1.1\r\nContent-Length: ten\r\n\r\n",
    "two lengths": b"POST /x HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
    "length and chunks": (
        b"POST /x HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    ),
    "an unknown transfer coding": b"POST /x HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n",
    "10,000 headers": b"GET /x HTTP/1.1\r\n" + b"A: b\r\n" * 10_000 + b"\r\n",
    "a header of 100 kB": b"GET /x HTTP/1.1\r\nA: " + b"b" * 100_000 + b"\r\n\r\n",
    "a header's name of 100 kB": b"GET /x HTTP/1.1\r\n" + b"a" * 100_000 + b": b\r\n\r\n",
    "a line of 1 MB": b"GET /" + b"a" * 1_000_000,
}


@pytest.mark.parametrize("what", GARBAGE)
@LASTING
async def test_what_is_no_request_is_a_bad_one_and_ends_the_connection(
    lasting_server: ApiServer, what: str
) -> None:
    async with connected(lasting_server) as connection:
        await connection.send(GARBAGE[what])
        said = await connection.rest()

    assert not said or said.startswith((b"HTTP/1.1 400 ", b"HTTP/1.0 400 ")), said
    assert said.count(b"HTTP/1.") <= 1
    await assert_alive(lasting_server)


HEAD_STARTS = {
    "plain": b"",
    "with chunks": b"Transfer-Encoding: chunked\r\n",
    "with an upgrade": b"Connection: upgrade\r\nUpgrade: foo\r\n",
    "with an expectation": b"Expect: 100-continue\r\n",
}


@pytest.mark.parametrize("kind", HEAD_STARTS)
@pytest.mark.parametrize(
    ("line", "host", "code"),
    [
        (b"GET /livez HTTP/1.1", b"", 400),
        (b"GET /livez HTTP/1.1", b"Host: a\r\nHost: b\r\n", 400),
        (b"CONNECT a:1 HTTP/1.1", b"Host: a\r\n", 400),
        (b"GET http://a/livez HTTP/1.1", b"Host: a\r\n", 200),
        (b"BREW /api/v1/pods HTTP/1.1", b"Host: a\r\n", 403),
        (b"CONNECT /api/v1/pods HTTP/1.1", b"Host: a\r\n", 403),
    ],
)
@LASTING
async def test_what_follows_a_head_does_not_change_what_is_said_about_it(
    lasting_server: ApiServer, kind: str, line: bytes, host: bytes, code: int
) -> None:
    async with connected(lasting_server) as connection:
        await connection.send(line + b"\r\n" + host + HEAD_STARTS[kind] + b"\r\n")
        if "chunks" in kind:
            await connection.send(b"0\r\n\r\n")

        assert (await connection.answer()).code == code


async def test_http_1_0_needs_no_host(server: ApiServer) -> None:
    async with connected(server) as connection:
        await connection.send(b"GET /livez HTTP/1.0\r\n\r\n")

        assert (await connection.rest()).endswith(b"\r\n\r\nok")


@pytest.mark.parametrize("pieces", [1, 3])
@pytest.mark.parametrize("length", [0, 40])
async def test_after_an_upgrade_nobody_knows_the_answer_is_the_last(
    server: ApiServer, pieces: int, length: int
) -> None:
    """What comes behind the request may be of the other protocol; none of it is a request."""
    upgrade = [("Connection", "Upgrade"), ("Upgrade", "foo"), ("Content-Length", str(length))]
    async with connected(server) as connection:
        body = config_map("a").ljust(length) if length else b""
        smuggled = connection.head("GET", "/livez") * 3
        sent = connection.head("POST", CONFIG_MAPS, upgrade) + body + smuggled
        size = len(sent) // pieces + 1
        for start in range(0, len(sent), size):
            await connection.send(sent[start : start + size])
        answer = await connection.answer()

        assert answer.code == (201 if length else 400)
        assert answer.headers["connection"] == "close"
        assert await connection.rest() == b""
    await assert_alive(server)


BAD_CHUNKS = {
    "no size": b"xyz\r\n",
    "a negative size": b"-1\r\n",
    "a size of 100 digits": b"f" * 100 + b"\r\n",
    "no line break behind a chunk": b"2\r\n{}0\r\n\r\n",
    "a size line without end": b"2;" + b"x" * 200_000,
    "a trailer without end": b"2\r\n{}\r\n0\r\n" + b"A: b\r\n" * 50_000,
}


@pytest.mark.parametrize("what", BAD_CHUNKS)
@LASTING
async def test_a_broken_chunk_stores_nothing(lasting_server: ApiServer, what: str) -> None:
    async with connected(lasting_server) as connection:
        head = connection.head("POST", CONFIG_MAPS, CHUNKED)
        await connection.send(head + BAD_CHUNKS[what])
        connection.end_sending()
        said = await connection.rest()

    assert b" 201 " not in said
    assert b"InternalError" not in said
    assert await names(lasting_server) == []
    await assert_alive(lasting_server)


ENDLESS = {
    "an extension": (b"2;", b"x" * 1024),
    "a size": (b"0", b"0" * 1024),
    "a later extension": (b"2\r\n{}\r\n2;", b"x" * 1024),
    "trailers": (b"2\r\n{}\r\n0\r\n", b"A: b\r\n" * 200),
}


@pytest.mark.parametrize("what", ENDLESS)
@LASTING
async def test_a_chunk_line_without_end_is_refused_long_before_the_deadline(
    lasting_server: ApiServer, what: str
) -> None:
    """The client neither stops nor hangs up. What takes too long would be a 504."""
    start, more = ENDLESS[what]
    async with connected(lasting_server) as connection:
        await connection.send(connection.head("POST", CONFIG_MAPS, CHUNKED) + start)
        for _ in range(1_000):
            await connection.send(more)
        answer = await connection.answer()

    assert answer.code == 400
    assert await names(lasting_server) == []
    await assert_alive(lasting_server)


async def test_a_chunked_body_is_put_together(server: ApiServer) -> None:
    body = config_map("a", x="y")
    async with connected(server) as connection:
        await connection.send(connection.head("POST", CONFIG_MAPS, CHUNKED))
        for byte in body:
            await connection.send(b"1;note=x\r\n%c\r\n" % byte)
        await connection.send(b"0\r\nTrailer: x\r\n\r\n")
        answer = await connection.answer()

    assert answer.code == 201
    assert answer.json["data"] == {"x": "y"}


@pytest.mark.parametrize("size", [0, 1, 20, 60])
async def test_half_a_request_stores_nothing_when_the_rest_never_comes(
    server: ApiServer, size: int
) -> None:
    async with connected(server) as connection:
        body = config_map("a")
        head = connection.head("POST", CONFIG_MAPS, [("Content-Length", str(len(body) + 40))])
        whole = head + body
        await connection.send(whole[: len(head) + size] if size > 1 else whole[: 20 * size])
        connection.vanish()

    await until(server, SENDING, 0)
    assert await names(server) == []
    await assert_alive(server)


async def test_pipelined_requests_are_answered_in_their_order(server: ApiServer) -> None:
    wanted = [f"{CONFIG_MAPS}/{number}" for number in range(500)]
    async with connected(server) as connection:
        await connection.send(b"".join(connection.head("GET", path) for path in wanted))
        answers = [await connection.answer() for _ in wanted]

    assert [answer.json["details"]["name"] for answer in answers] == [
        str(number) for number in range(500)
    ]


async def test_behind_a_broken_request_nothing_more_is_served(server: ApiServer) -> None:
    """Where one request ends is not known any more, so what follows may be somebody's data."""
    async with connected(server) as connection:
        smuggled = connection.head(
            "POST", CONFIG_MAPS, [("Content-Length", str(len(config_map("a"))))]
        )
        await connection.send(
            b"POST /x HTTP/1.1\r\nContent-Length: x\r\n\r\n" + smuggled + config_map("a")
        )
        said = await connection.rest()

    assert said.count(b"HTTP/1.") == 1
    assert await names(server) == []


async def test_an_old_client_is_answered_and_hung_up_on(server: ApiServer) -> None:
    async with connected(server) as connection:
        await connection.send(b"GET /readyz HTTP/1.0\r\n\r\n")
        said = await connection.rest()

    head, _, body = said.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 ")
    assert b"connection: close" in head.lower()
    assert b"chunked" not in head.lower()
    assert body == b"ok"


async def test_an_old_client_can_watch_without_chunks(server: ApiServer) -> None:
    await ask(server, "POST", CONFIG_MAPS, config_map("a"))
    async with connected(server) as connection:
        head = connection.head("GET", f"{CONFIG_MAPS}?watch=1&resourceVersion=0&timeoutSeconds=1")
        await connection.send(head.replace(b"HTTP/1.1", b"HTTP/1.0"))
        answer = await connection.answer()

    assert "transfer-encoding" not in answer.headers
    assert [json.loads(line)["type"] for line in answer.body.splitlines()] == ["ADDED"]


async def test_expect_continue_is_answered_before_the_body(server: ApiServer) -> None:
    body = config_map("a")
    async with connected(server) as connection:
        length = ("Content-Length", str(len(body)))
        await connection.send(
            connection.head("POST", CONFIG_MAPS, [length, ("Expect", "100-continue")])
        )
        assert (await connection.answer()).code == 100
        await connection.send(body)
        assert (await connection.answer()).code == 201


async def test_a_body_that_comes_too_slowly_is_given_up(server: ApiServer) -> None:
    clock = VirtualClock()
    async with ApiServer(ServerConfig(), clock) as slow, connected(slow) as connection:
        body = config_map("a")
        length = ("Content-Length", str(len(body)))
        await connection.send(connection.head("POST", CONFIG_MAPS, [length]) + body[:-1])
        await until(slow, SENDING, 1)

        await clock.advance(34)
        answer = await connection.answer()

        assert (answer.code, answer.reason) == (504, "Timeout")
        assert await names(slow) == []
        await until(slow, SENDING, 0)


async def test_headers_that_never_end_are_given_up_after_three_minutes() -> None:
    async def never(request: Request) -> Response:
        raise AssertionError("no request has come")

    clock = VirtualClock()
    http = HttpServer(never, clock)
    async with http.run():
        for start in (b"", b"GET / HTTP/1.1\r\nHost: x\r\n"):
            began = clock.monotonic()
            async with connected(Bare(f"http://127.0.0.1:{http.port}")) as connection:
                await connection.send(start)
                reading = asyncio.ensure_future(connection.rest())
                while not reading.done():
                    await clock.advance(1)

                assert await reading == b""
                assert clock.monotonic() - began >= 180


async def test_an_answer_nobody_reads_is_given_up() -> None:
    clock = VirtualClock()
    async with ApiServer(ServerConfig(), clock) as patient:
        for number in range(20):
            body = config_map(f"large-{number}", x="y" * 1_000_000)
            assert (await ask(patient, "POST", CONFIG_MAPS, body)).code == 201
        async with connected(patient, buffer_bytes=1024) as connection:
            connection.stop_reading()
            await connection.send(connection.head("GET", CONFIG_MAPS))
            await until(patient, 'apiserver_request_total{verb="LIST"}', 1)

            await clock.advance(61)

            connection.resume_reading()
            with pytest.raises(ConnectionError):
                await connection.answer()
        await assert_alive(patient)


BYTES = "\udcff\udcfe"  # what is no UTF-8, as str
HEADERS = {
    "a user agent of bytes": [("User-Agent", f"a{BYTES}/1")],
    "a user agent of 60 kB": [("User-Agent", "a" * 60_000)],
    "a media type of bytes": [("Accept", f"a{BYTES}/x")],
    "5,000 media types": [("Accept", ",".join(f"*/*;q=.{n:04}" for n in range(5_000)))],
    "a token of bytes": [("Authorization", f"Bearer {BYTES}.{BYTES}.{BYTES}")],
    "a token of 60 kB": [("Authorization", "Bearer " + "a" * 60_000)],
    "another scheme": [("Authorization", "Basic eA==")],
    "a token that is no token": [("Authorization", "Bearer a.b.c")],
    "an audit id of bytes": [("Audit-Id", BYTES)],
    "a user of bytes": [("Impersonate-User", f"a{BYTES}")],
    "extras of bytes": [("Impersonate-User", "a"), ("Impersonate-Extra-%ff", BYTES)],
    "a strange encoding": [("Accept-Encoding", f"{BYTES};q=x,gzip;q=1e999")],
    "a strange range": [("Range", "bytes=-1-2,")],
    "an etag of bytes": [("If-None-Match", BYTES)],
    "a host of bytes": [("X-Forwarded-For", BYTES), ("Origin", BYTES)],
}


@pytest.mark.parametrize("what", HEADERS)
async def test_a_strange_header_never_fails_inside(server: ApiServer, what: str) -> None:
    async def all_ways(connection: Connection) -> list[Answer]:
        headers = HEADERS[what]
        return [
            await connection.ask("GET", CONFIG_MAPS, None, headers),
            await connection.ask("POST", CONFIG_MAPS, config_map("a"), headers),
            await connection.ask("GET", "/apis", None, headers),
            await connection.ask(
                "POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", b"{}", headers
            ),
        ]

    async with connected(server) as connection:
        answers = await all_ways(connection)

    assert [answer.code for answer in answers if answer.code >= 500] == [], answers
    await assert_alive(server)


@pytest.mark.parametrize(
    "header",
    ["Impersonate-Group", "Impersonate-Uid", "Impersonate-Extra-Scopes", "impersonate-EXTRA-x"],
)
async def test_who_acts_as_somebody_without_a_name_is_refused(
    server: ApiServer, header: str
) -> None:
    async with connected(server) as connection:
        refused = await connection.ask("GET", CONFIG_MAPS, None, [(header, "x")])
        served = await connection.ask("GET", CONFIG_MAPS, None, [("X-Impersonate-Extra-x", "x")])

    assert refused.code == 400 and b"without impersonating a user" in refused.body
    assert refused.headers["x-content-type-options"] == "nosniff"
    assert served.code == 200
