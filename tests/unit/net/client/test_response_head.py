"""Heads of answers: what one says, what is none, and that aiohttp's parser, another one, agrees."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from aiohttp.base_protocol import BaseProtocol
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.http_parser import HttpResponseParser
from hypothesis import assume, given
from hypothesis import strategies as st

from proreus.net.client.response_head import BadResponse, ResponseHead, ResponseHeads
from proreus.net.http1.request_body import Chunked, Sized

USUAL = (
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nAudit-Id: a-b-c\r\n"
    b"Date: Tue, 17 Nov 2026 16:24:21 GMT\r\nContent-Length: 511\r\n\r\n"
)


def read(data: bytes, heads: ResponseHeads | None = None) -> ResponseHead:
    return (heads or ResponseHeads()).read(data, data.index(b"\r\n\r\n"))


def test_a_head_that_came_before_says_the_same_again() -> None:
    heads = ResponseHeads()

    first, again = read(USUAL, heads), read(USUAL, heads)

    assert first == again
    assert (first.status, first.length, first.keeps_alive) == (200, 511, True)
    assert first.pairs[:2] == [("content-type", "application/json"), ("audit-id", "a-b-c")]


def test_what_is_remembered_is_bounded() -> None:
    heads = ResponseHeads()

    for number in range(2_000):
        read(b"HTTP/1.1 200 R%d\r\nX: %d\r\nContent-Length: %d\r\n\r\n" % ((number,) * 3), heads)

    assert len(heads._lines) <= 512
    assert len(heads._statuses) <= 512


REFUSED = {
    "another protocol": b"SSH-2.0-x\r\n\r\n",
    "HTTP/2": b"HTTP/2.0 200 OK\r\n\r\n",
    "HTTP/1.2": b"HTTP/1.2 200 OK\r\n\r\n",
    "lower case": b"http/1.1 200 OK\r\n\r\n",
    "no status": b"HTTP/1.1\r\n\r\n",
    "two digits": b"HTTP/1.1 20 OK\r\n\r\n",
    "four digits": b"HTTP/1.1 2000 OK\r\n\r\n",
    "a status that begins with 0": b"HTTP/1.1 099 OK\r\n\r\n",
    "two spaces": b"HTTP/1.1  200 OK\r\n\r\n",
    "a control character in the reason": b"HTTP/1.1 200 O\x00K\r\n\r\n",
    "a line feed alone": b"HTTP/1.1 200 OK\nA: b\r\n\r\n",
    "a line feed alone behind a header": b"HTTP/1.1 200 OK\r\nA: b\nB: c\r\n\r\n",
    "no colon": b"HTTP/1.1 200 OK\r\nA\r\n\r\n",
    "no name": b"HTTP/1.1 200 OK\r\n: a\r\n\r\n",
    "a space behind a name": b"HTTP/1.1 200 OK\r\nA : b\r\n\r\n",
    "a fold": b"HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n",
    "a NUL": b"HTTP/1.1 200 OK\r\nA: \x00\r\n\r\n",
    "201 headers": b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 201 + b"\r\n",
    "an empty length": b"HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\n",
    "a length with a sign": b"HTTP/1.1 200 OK\r\nContent-Length: +1\r\n\r\n",
    "a negative length": b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
    "a huge length": b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000000000\r\n\r\n",
    "a list of lengths": b"HTTP/1.1 200 OK\r\nContent-Length: 1, 1\r\n\r\n",
    "two lengths": b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
    "a length and chunks": (
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n"
    ),
    "chunks twice": (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n"
    ),
    "compressed chunks": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
    "a coding nobody knows": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\n\r\n",
    "chunks of HTTP/1.0": b"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_no_head_is_refused_whatever_came_before(what: str) -> None:
    heads = ResponseHeads()
    read(USUAL, heads)

    for _ in range(2):
        with pytest.raises(BadResponse):
            read(REFUSED[what], heads)


@pytest.mark.parametrize(
    ("lines", "keeps_alive"),
    [
        (b"HTTP/1.1 200 OK", True),
        (b"HTTP/1.1 200 OK\r\nConnection: close", False),
        (b"HTTP/1.1 200 OK\r\nConnection: Keep-Alive, Close", False),
        (b"HTTP/1.1 200 OK\r\nConnection: x\r\nConnection: close", False),
        (b"HTTP/1.0 200 OK", False),
        (b"HTTP/1.0 200 OK\r\nConnection: keep-alive", True),
        (b"HTTP/1.0 200 OK\r\nContent-Length: 0", False),
    ],
)
def test_it_is_reported_whether_the_connection_goes_on(lines: bytes, *, keeps_alive: bool) -> None:
    assert read(lines + b"\r\n\r\n").keeps_alive == keeps_alive


@pytest.mark.parametrize(
    ("lines", "method", "framing"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5", "GET", "Sized"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\ncontent-length: 5", "GET", "Sized"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked", "GET", "Chunked"),
        (b"HTTP/1.1 200 OK", "GET", "UntilClose"),
        (b"HTTP/1.1 101 Other", "GET", "UntilClose"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5", "HEAD", "none"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked", "HEAD", "none"),
        (b"HTTP/1.1 204 No Content\r\nContent-Length: 5", "GET", "none"),
        (b"HTTP/1.1 304 Not Modified\r\nContent-Length: 5", "GET", "none"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 0", "GET", "none"),
    ],
)
def test_what_follows_is_known_by_method_status_and_headers(
    lines: bytes, method: str, framing: str
) -> None:
    found = read(lines + b"\r\n\r\n").framing(method)

    is_none = isinstance(found, Sized) and found.is_done
    assert ("none" if is_none else type(found).__name__) == framing


def other_parser(data: bytes) -> list[tuple[Any, Any]]:
    loop = asyncio.new_event_loop()
    try:
        parser = HttpResponseParser(BaseProtocol(loop), loop, 2**16)
        return list(parser.feed_data(data)[0])
    finally:
        loop.close()


_NAMES = st.sampled_from(
    ["A", "accept", "X-Y", "Content-Length", "Connection", "Transfer-Encoding", "Date", "é", "a b"]
)
_VALUES = st.one_of(
    st.text(max_size=12),
    st.sampled_from(["0", "5", "close", "keep-alive", "chunked", " x ", "\tx", "ü"]),
)


@given(
    line=st.one_of(
        st.binary(max_size=30),
        st.from_regex(rb"HTTP/1\.[01] [0-9]{3}( [ -~]{0,20})?\r\n", fullmatch=True),
    ),
    headers=st.lists(st.tuples(_NAMES, _VALUES), max_size=4),
)
def test_another_parser_says_the_same_of_what_is_a_head(
    line: bytes, headers: list[tuple[str, str]]
) -> None:
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers).encode()
    data = line + lines + b"\r\n"
    assume(b"\r\n\r\n" in data)
    data = data[: data.index(b"\r\n\r\n") + 4]
    heads = ResponseHeads()
    try:
        head = read(data, heads)
    except BadResponse:
        return
    assert read(data, heads) == head  # remembered or not
    assume(not head.is_interim and head.status != 101)

    try:
        ((message, _),) = other_parser(data)
    except HttpProcessingError as error:
        raise AssertionError(f"the other parser refuses it: {error}") from error

    assert head.status == message.code
    assert head.pairs == [(name.lower(), value) for name, value in message.headers.items()]
    assert isinstance(head.framing("GET"), Chunked) == (
        message.chunked and head.status not in (204, 304)
    )
    if "connection" not in dict(head.pairs) and head.length is not None:
        assert head.keeps_alive == (not message.should_close)
