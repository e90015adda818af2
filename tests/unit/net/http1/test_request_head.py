"""Heads: what a request is, what is none, and that aiohttp's parser, another one, agrees."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from aiohttp.base_protocol import BaseProtocol
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.http_parser import HttpRequestParser
from hypothesis import assume, given
from hypothesis import strategies as st

from proreus.net.http1.messages import Head
from proreus.net.http1.request_head import (
    HEAD_BYTES_MAX,
    HEAD_END,
    BadHead,
    Heads,
    has_chunks,
    length_of,
    wants_upgrade,
)

HEADERS = b"Host: x\r\nAuthorization: Bearer t\r\nAccept: application/json\r\n\r\n"


def parsed(data: bytes) -> list[tuple[Any, Any]]:
    loop = asyncio.new_event_loop()
    try:
        return list(HttpRequestParser(BaseProtocol(loop), loop, 2**16).feed_data(data)[0])
    finally:
        loop.close()


def read(data: bytes) -> Head:
    return Heads().read(data, len(data))


def test_headers_that_came_before_are_known_behind_another_line() -> None:
    heads = Heads()
    first = b"GET /a HTTP/1.1\r\n" + HEADERS
    assert heads.find(first) is None
    heads.read(first, len(first))

    found = heads.find(b"DELETE /b?c=d HTTP/1.1\r\n" + HEADERS)

    assert found is not None
    head, body = found
    assert not body
    assert (head.method, head.target, head.headers["host"]) == ("DELETE", "/b?c=d", "x")
    assert heads.find(first + b"GET") is None
    assert heads.find(first[:-1]) is None
    assert heads.find(b"DELETE /b HTTP/1.0\r\n" + HEADERS) is None


def test_a_request_that_came_with_all_of_its_body_is_found_by_known_headers() -> None:
    heads = Heads()
    block = HEADERS[:-2] + b"Content-Length: %d\r\n\r\n"
    first = b"PUT /a HTTP/1.1\r\n" + block % 2
    heads.read(first, len(first))

    sent = b"{\r\n\r\n}"
    found = heads.find(b"PUT /b HTTP/1.1\r\n" + block % len(sent) + sent)

    assert found is not None
    head, body = found
    assert (head.target, head.headers["content-length"], body) == ("/b", "6", sent)
    whole = b"PUT /b HTTP/1.1\r\n" + block % 3 + b"{ }"
    assert heads.find(whole) is not None
    assert heads.find(whole[:-1]) is None
    assert heads.find(whole + b"P") is None
    assert heads.find(b"PUT /b HTTP/1.0\r\n" + block % 3 + b"{ }") is None


@pytest.mark.parametrize(("over", "is_found"), [(0, True), (1, False)])
def test_a_head_that_is_too_long_is_not_found_though_its_headers_are_known(
    *, over: int, is_found: bool
) -> None:
    heads = Heads()
    first = b"GET /a HTTP/1.1\r\n" + HEADERS
    heads.read(first, len(first))
    path = b"a" * (HEAD_BYTES_MAX + len(HEAD_END) - len(first) + 1 + over)

    found = heads.find(b"GET /%b HTTP/1.1\r\n" % path + HEADERS)

    assert (found is not None) == is_found


def test_a_body_of_another_length_is_reported_behind_known_headers() -> None:
    heads = Heads()
    for length in (5, 12, 0, 7):
        data = b"PUT /a HTTP/1.1\r\nContent-Length: %d\r\n" % length + HEADERS

        head = heads.read(data, len(data))

        assert head.headers["accept"] == "application/json"
        assert length_of(head) == length
        assert heads.find(data) is None  # a body follows
        bare = b"PUT /a HTTP/1.1\r\nContent-Length: \r\n" + HEADERS
        assert heads.find(bare) is None
        with pytest.raises(BadHead):
            heads.read(bare, len(bare))


REFUSED = {
    "no host": b"GET / HTTP/1.1\r\n\r\n",
    "no host, but a length": b"POST / HTTP/1.1\r\nContent-Length: 1\r\n\r\n",
    "no host beside chunks": b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n",
    "no host beside an upgrade": b"GET / HTTP/1.1\r\nConnection: upgrade\r\nUpgrade: a\r\n\r\n",
    "two hosts": b"GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n",
    "two hosts of HTTP/1.0": b"GET / HTTP/1.0\r\nHost: a\r\nhost: b\r\n\r\n",
    "a host with a path": b"GET / HTTP/1.1\r\nHost: a/b\r\n\r\n",
    "an address of a proxy": b"CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n",
    "no path": b"GET a HTTP/1.1\r\nHost: a\r\n\r\n",
    "another scheme": b"GET ftp://a/ HTTP/1.1\r\nHost: a\r\n\r\n",
    "an asterisk": b"GET * HTTP/1.1\r\nHost: a\r\n\r\n",
    "two spaces": b"GET  / HTTP/1.1\r\nHost: a\r\n\r\n",
    "a tab": b"GET\t/ HTTP/1.1\r\nHost: a\r\n\r\n",
    "a path that is no ASCII": "GET /é HTTP/1.1\r\nHost: a\r\n\r\n".encode(),
    "a control character": b"GET /\x7f HTTP/1.1\r\nHost: a\r\n\r\n",
    "a method that is no token": b"BREW:/ HTTP/1.1\r\nHost: a\r\n\r\n",
    "HTTP/1.2": b"GET / HTTP/1.2\r\nHost: a\r\n\r\n",
    "HTTP/2.0": b"GET / HTTP/2.0\r\nHost: a\r\n\r\n",
    "no version": b"GET /\r\nHost: a\r\n\r\n",
    "line feeds alone": b"GET / HTTP/1.1\nHost: a\r\n\r\n",
    "a line feed alone behind a header": b"GET / HTTP/1.1\r\nHost: a\nA: b\r\n\r\n",
    "an empty line before": b"\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
    "a space in a name": b"GET / HTTP/1.1\r\nHost: a\r\nA b: c\r\n\r\n",
    "a space behind a name": b"GET / HTTP/1.1\r\nHost: a\r\nA : c\r\n\r\n",
    "no name": b"GET / HTTP/1.1\r\nHost: a\r\n: c\r\n\r\n",
    "no colon": b"GET / HTTP/1.1\r\nHost: a\r\nA\r\n\r\n",
    "a fold": b"GET / HTTP/1.1\r\nHost: a\r\nA: b\r\n c\r\n\r\n",
    "a fold at the start": b"GET / HTTP/1.1\r\n Host: a\r\nHost: a\r\n\r\n",
    "a carriage return": b"GET / HTTP/1.1\r\nHost: a\r\nA: b\rc\r\n\r\n",
    "a NUL": b"GET / HTTP/1.1\r\nHost: a\r\nA: \x00\r\n\r\n",
    "201 headers": b"GET / HTTP/1.1\r\nHost: a\r\n" + b"A: b\r\n" * 200 + b"\r\n",
    "an empty length": b"PUT / HTTP/1.1\r\nHost: a\r\nContent-Length:\r\n\r\n",
    "a length with a sign": b"PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: +1\r\n\r\n",
    "a negative length": b"PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
    "a length in hex": b"PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 0x1\r\n\r\n",
    "a huge length": b"PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000000000000\r\n\r\n",
    "a list of lengths": b"PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 1, 1\r\n\r\n",
    "a length twice": (
        b"PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\ncontent-length: 1\r\n\r\n"
    ),
    "a length and chunks": (
        b"PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n"
    ),
    "chunks twice": (
        b"PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n"
    ),
    "compressed chunks": b"PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
    "a coding nobody knows": b"PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n",
    "chunks of HTTP/1.0": b"PUT / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n",
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_no_request_is_refused_whatever_came_before(what: str) -> None:
    heads, data = Heads(), REFUSED[what]
    for usual in (b"", b"Content-Length: 1\r\n"):
        before = b"PUT / HTTP/1.1\r\n" + usual + HEADERS
        heads.read(before, len(before))

    for _ in range(2):
        assert heads.find(data) is None
        with pytest.raises(BadHead):
            heads.read(data, len(data))


ODD = {
    "a method nobody knows": (b"BREW /a HTTP/1.1\r\nHost: a\r\n\r\n", ("BREW", "/a")),
    "a method in lower case": (b"get /a HTTP/1.1\r\nHost: a\r\n\r\n", ("get", "/a")),
    "CONNECT to a path": (b"CONNECT /a HTTP/1.1\r\nHost: a\r\n\r\n", ("CONNECT", "/a")),
    "a method with signs": (b"M-SEARCH /a HTTP/1.1\r\nHost: a\r\n\r\n", ("M-SEARCH", "/a")),
    "the whole server": (b"OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", ("OPTIONS", "*")),
    "a proxy's form": (b"GET http://b/c HTTP/1.1\r\nHost: a\r\n\r\n", ("GET", "http://b/c")),
    "HTTP/1.0 without a host": (b"GET /a HTTP/1.0\r\n\r\n", ("GET", "/a")),
    "an empty host": (b"GET /a HTTP/1.1\r\nHost:\r\n\r\n", ("GET", "/a")),
    "odd characters": (b'GET /{|}^"<>` HTTP/1.1\r\nHost: a\r\n\r\n', ("GET", '/{|}^"<>`')),
}


@pytest.mark.parametrize("what", ODD)
def test_what_is_odd_but_a_request_is_read(what: str) -> None:
    data, said = ODD[what]

    head = read(data)

    assert (head.method, head.target) == said


@pytest.mark.parametrize(
    ("version", "connection", "is_last"),
    [
        (b"1.1", b"", False),
        (b"1.1", b"Connection: close\r\n", True),
        (b"1.1", b"Connection: Keep-Alive, Close\r\n", True),
        (b"1.1", b"Connection: x\r\nConnection: close\r\n", True),
        (b"1.1", b"Connection: upgrade\r\n", False),
        (b"1.0", b"", True),
        (b"1.0", b"Connection: keep-alive\r\n", False),
        (b"1.0", b"Connection: x\r\n", True),
    ],
)
def test_it_is_reported_whether_the_connection_goes_on(
    version: bytes, connection: bytes, is_last: bool
) -> None:
    heads, data = Heads(), b"GET / HTTP/" + version + b"\r\n" + connection + HEADERS

    assert [heads.read(data, len(data)).should_close for _ in range(2)] == [is_last] * 2


def test_chunks_and_upgrades_are_reported() -> None:
    chunked = read(b"PUT / HTTP/1.1\r\nTransfer-Encoding: Chunked\r\n" + HEADERS)
    upgrade = b"Upgrade: foo\r\nConnection: keep-alive, Upgrade\r\n"

    assert (has_chunks(chunked), wants_upgrade(chunked)) == (True, False)
    assert wants_upgrade(read(b"GET / HTTP/1.1\r\n" + upgrade + HEADERS))
    assert not wants_upgrade(read(b"GET / HTTP/1.1\r\nUpgrade: foo\r\n" + HEADERS))


_NAMES = st.sampled_from(
    ["A", "accept", "X-Y", "Content-Length", "Connection", "Host", "Upgrade", "é", "a b"]
)
_VALUES = st.one_of(
    st.text(max_size=12), st.sampled_from(["0", "5", "close", "keep-alive", " x ", "\tx", "ü"])
)


@given(
    line=st.one_of(
        st.binary(max_size=40),
        st.from_regex(rb"(GET|PUT|DELETE) [ -~]{0,20} HTTP/1\.[01]\r\n", fullmatch=True),
        st.text(max_size=20).map(lambda t: f"GET /{t} HTTP/1.1\r\n".encode()),
    ),
    headers=st.lists(st.tuples(_NAMES, _VALUES), max_size=4),
    has_host=st.booleans(),
)
def test_another_parser_says_the_same_of_what_is_a_request(
    line: bytes, headers: list[tuple[str, str]], has_host: bool
) -> None:
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers).encode()
    data = line + lines + (HEADERS if has_host else b"\r\n")
    assume(b"\r\n\r\n" in data)
    end = data.index(b"\r\n\r\n") + 4
    heads = Heads()
    try:
        head = heads.read(data, end)
    except BadHead:
        return
    assert heads.read(data, end) == head  # remembered or not

    try:
        ((message, _),) = parsed(data[:end] + b"x" * length_of(head))
    except HttpProcessingError as error:
        raise AssertionError(f"the other parser refuses it: {error}") from error

    assert (head.method, head.target) == (message.method, message.path)
    assert _spelled_alike(head.headers) == _spelled_alike(message.headers)
    assert head.version == message.version
    if "Connection" not in head.headers:
        assert head.should_close == message.should_close


def _spelled_alike(headers: Any) -> list[tuple[str, str]]:
    return [(name.lower(), value) for name, value in headers.items()]
