"""Heads that are read without the parser mean exactly what the parser would say."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from aiohttp.base_protocol import BaseProtocol
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.http_parser import HttpRequestParser
from hypothesis import given
from hypothesis import strategies as st

from proreus.net.plain_http import PlainHeads

HEADERS = b"Host: x\r\nAuthorization: Bearer t\r\nAccept: application/json\r\n\r\n"


def parsed(data: bytes) -> list[tuple[Any, Any]]:
    loop = asyncio.new_event_loop()
    try:
        return list(HttpRequestParser(BaseProtocol(loop), loop, 2**16).feed_data(data)[0])
    finally:
        loop.close()


def read(data: bytes) -> tuple[Any, int] | None:
    return PlainHeads().read(data, data.index(b"\r\n\r\n") + 4)


def test_headers_that_came_before_are_known_behind_another_line() -> None:
    heads = PlainHeads()
    first = b"GET /a HTTP/1.1\r\n" + HEADERS
    assert heads.find(first) is None
    assert heads.read(first, len(first)) is not None

    head = heads.find(b"DELETE /b?c=d HTTP/1.1\r\n" + HEADERS)

    assert head is not None
    assert (head.method, head.target, head.headers["host"]) == ("DELETE", "/b?c=d", "x")
    assert heads.find(first + b"GET") is None
    assert heads.find(first[:-1]) is None


def test_a_body_of_another_length_is_told_behind_known_headers() -> None:
    heads = PlainHeads()
    for length in (5, 12, 0, 7):
        data = b"PUT /a HTTP/1.1\r\nContent-Length: %d\r\n" % length + HEADERS

        found = heads.read(data, len(data))

        assert found is not None
        assert found[0].headers["content-length"] == str(length)
        assert found[0].headers["accept"] == "application/json"
        assert found[1] == length
        assert heads.find(data) is None  # a body follows
        bare = b"PUT /a HTTP/1.1\r\nContent-Length: \r\n" + HEADERS
        assert heads.find(bare) is None
        assert heads.read(bare, len(bare)) is None


@pytest.mark.parametrize(
    ("line", "header"),
    [
        (b"GET /a HTTP/1.0\r\n", b""),
        (b"BREW:/a HTTP/1.1\r\n", b""),
        (b"GET http://x/a HTTP/1.1\r\n", b""),
        (b"GET /a HTTP/1.1\r\n", b"Content-Length: x\r\n"),
        (b"GET /a HTTP/1.1\r\n", b"Content-Length: +1\r\n"),
        (b"GET /a HTTP/1.1\r\n", b"Content-Length: 1\r\nContent-Length: 1\r\n"),
        (b"GET /a HTTP/1.1\r\n", b"Transfer-Encoding: chunked\r\n"),
        (b"GET /a HTTP/1.1\r\n", b"Upgrade: websocket\r\nConnection: Upgrade\r\n"),
        (b"GET /a HTTP/1.1\r\n", b"Expect: 100-continue\r\n"),
        (b"GET /a HTTP/1.1\r\n", b"Content-Encoding: gzip\r\n"),
        (b"GET /a HTTP/1.1\r\n", b"A b: c\r\n"),
        (b"GET /a HTTP/1.1\r\n", b"A : c\r\n"),
        (b"GET /a HTTP/1.1\r\n", b"A: b\r\n c\r\n"),
        (b"GET /a HTTP/1.1\r\n", b"A: b\rc\r\n"),
        (b"GET /a HTTP/1.1\r\n", b"A: \x00\r\n"),
    ],
)
def test_what_is_unusual_is_left_to_the_parser(line: bytes, header: bytes) -> None:
    assert read(line + header + HEADERS) is None


def test_a_method_may_be_any_word() -> None:
    """The parser refuses those that no standard names; what they mean is the router's to say."""
    found = read(b"BREW /a HTTP/1.1\r\n" + HEADERS)

    assert found is not None
    assert found[0].method == "BREW"


def test_a_length_and_a_close_are_told() -> None:
    found = read(b"POST /a HTTP/1.1\r\nConnection: close\r\nContent-Length: 12\r\n" + HEADERS)

    assert found is not None
    assert found[0].should_close
    assert found[1] == 12


_NAMES = st.sampled_from(["A", "accept", "X-Y", "Content-Length", "Connection", "Host", "é", "a b"])
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
)
def test_a_plain_head_is_what_the_parser_would_have_said(
    line: bytes, headers: list[tuple[str, str]]
) -> None:
    told = "".join(f"{name}: {value}\r\n" for name, value in headers).encode()
    data = line + told + HEADERS
    end = data.index(b"\r\n\r\n") + 4
    heads = PlainHeads()
    found = heads.read(data, end)
    if found is None:
        return
    assert heads.read(data, end) == found  # remembered or not
    head, length = found

    try:
        ((message, _),) = parsed(data[:end] + b"x" * length)
    except HttpProcessingError as error:
        raise AssertionError(f"the parser refuses it: {error}") from error

    assert (head.method, head.target) == (message.method, message.path)
    assert _spelled_alike(head.headers) == _spelled_alike(message.headers)
    assert head.version == message.version
    assert head.should_close == message.should_close


def _spelled_alike(headers: Any) -> list[tuple[str, str]]:
    return [(name.lower(), value) for name, value in headers.items()]
