"""A connection's bytes: however they are cut the same answer, and nothing damaged is one."""

from __future__ import annotations

import asyncio
from itertools import pairwise

import pytest
from aiohttp.base_protocol import BaseProtocol
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.http_parser import HttpResponseParser
from hypothesis import given, settings
from hypothesis import strategies as st

from proreus.net.client.connection import ClientConnection
from proreus.net.client.response_head import ResponseHeads
from proreus.net.client.transport_error import ConnectionLost, ProtocolError, TransportError

SIZED = b"HTTP/1.1 200 OK\r\nA: b\r\nContent-Length: 5\r\n\r\nhello"
CHUNKED = (
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\nTrailer: x\r\n\r\n"
)
UNTIL_CLOSE = b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello"
AFTER_INTERIM = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nLink: x\r\n\r\n" + SIZED
WHOLE = {"sized": SIZED, "chunked": CHUNKED, "until close": UNTIL_CLOSE, "interim": AFTER_INTERIM}


class Wire(asyncio.Transport):
    """Keeps what is written and how the connection ended."""

    def __init__(self) -> None:
        super().__init__()
        self.written = b""
        self.is_paused = False
        self.is_over = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written += data

    def get_write_buffer_size(self) -> int:
        return 0

    def is_closing(self) -> bool:
        return self.is_over

    def close(self) -> None:
        self.is_over = True

    abort = close

    def pause_reading(self) -> None:
        self.is_paused = True

    def resume_reading(self) -> None:
        self.is_paused = False


def connected() -> tuple[ClientConnection, Wire]:
    connection, wire = ClientConnection(asyncio.get_running_loop(), ResponseHeads()), Wire()
    connection.connection_made(wire)
    return connection, wire


async def outcome(pieces: list[bytes], method: str = "GET") -> str:
    """What is answered when these arrive and then the server closes."""
    connection, _ = connected()
    answer = connection.send("http://h/", method, b"", None)
    for piece in pieces:
        connection.data_received(piece)
    is_reusable = connection.is_reusable
    connection.eof_received()
    connection.connection_lost(None)
    try:
        head = await answer.wait_head()
        body = b""
        while piece := await answer.read():
            body += piece
    except TransportError as error:
        return type(error).__name__
    return f"{head.status} {body!r}{' and again' if is_reusable else ''}"


def cut(data: bytes, places: list[int]) -> list[bytes]:
    bounds = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    return [data[start:end] for start, end in pairwise(bounds) if start < end]


@pytest.mark.parametrize("what", WHOLE)
async def test_every_cut_in_two_gives_the_same_answer(what: str) -> None:
    data = WHOLE[what]
    expected = "200 b'hello'" + ("" if what == "until close" else " and again")

    found = {await outcome([data[:at], data[at:]]) for at in range(1, len(data))}

    assert found == {expected}
    assert await outcome([bytes((byte,)) for byte in data]) == expected


@pytest.mark.parametrize("what", ["sized", "chunked", "interim"])
async def test_an_answer_that_is_cut_off_anywhere_is_lost(what: str) -> None:
    data = WHOLE[what]

    found = {await outcome([data[:at]]) for at in range(1, len(data))}

    assert found == {"ConnectionLost"}


DAMAGED = {
    "noise": b"\x16\x03\x01\x02",
    "noise instead of a chunk": CHUNKED[: CHUNKED.index(b"3\r\n")] + b"\x00\xff",
    "a chunk that is too long": CHUNKED.replace(b"hel\r\n", b"help\r\n"),
    "a head without end": b"HTTP/1.1 200 OK\r\nA: " + b"b" * 70_000,
    "interim answers without end": b"HTTP/1.1 100 Continue\r\n\r\n" * 100,
    "another protocol unasked": b"HTTP/1.1 101 Switching Protocols\r\n\r\n",
    "a size line without end": CHUNKED[: CHUNKED.index(b"3\r\n")] + b"1;" + b"a" * 5_000,
}


@pytest.mark.parametrize("what", DAMAGED)
@pytest.mark.parametrize("step", [1, 1_000, 1_000_000])
async def test_what_is_no_http_is_refused_at_once(what: str, step: int) -> None:
    data = DAMAGED[what]
    connection, wire = connected()
    answer = connection.send("http://h/", "GET", b"", None)

    for at in range(0, len(data), step):
        connection.data_received(data[at : at + step])

    assert wire.is_over
    with pytest.raises(ProtocolError, match="not HTTP"):
        await answer.wait_head()
        while await answer.read():
            pass


async def test_bytes_behind_an_answer_end_the_connection() -> None:
    assert await outcome([SIZED + b"HTTP/1.1 200 OK\r\n\r\n"]) == "200 b'hello'"

    connection, wire = connected()
    connection.data_received(SIZED)

    assert wire.is_over
    assert not connection.is_reusable


async def test_answers_to_head_have_no_body() -> None:
    data = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"

    assert await outcome([data], "HEAD") == "200 b'' and again"


async def test_a_server_is_not_read_while_its_answer_is_not() -> None:
    connection, wire = connected()
    answer = connection.send("http://h/", "GET", b"", None)
    connection.data_received(b"HTTP/1.1 200 OK\r\nContent-Length: 10000000\r\n\r\n")
    sent = 0
    while not wire.is_paused:
        connection.data_received(bytes(16_384))
        sent += 16_384

    assert sent < 1024 * 1024
    assert len(await answer.read()) == sent
    assert not wire.is_paused


async def test_the_next_answer_is_read_though_the_last_was_not() -> None:
    connection, wire = connected()
    connection.send("http://h/", "GET", b"", None)
    size = 2_000_000
    connection.data_received(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size)
    connection.data_received(bytes(size - 1))
    was_paused = wire.is_paused

    connection.data_received(b"x")  # had been under way

    assert (was_paused, wire.is_paused) == (True, False)
    assert connection.is_reusable


async def test_what_a_user_ends_is_no_proper_end() -> None:
    connection, _ = connected()
    answer = connection.send("http://h/", "GET", b"", None)
    connection.data_received(UNTIL_CLOSE)

    connection.abort()

    assert await answer.read() == b"hello"
    with pytest.raises(ConnectionLost, match="closed"):
        await answer.read()


async def test_bytes_behind_an_upgrade_go_to_who_takes_them_over() -> None:
    connection, wire = connected()
    answer = connection.send("http://h/", "GET", b"", None)
    answer.may_switch = True
    connection.data_received(b"HTTP/1.1 101 Other\r\nUpgrade: x\r\n\r\nfirst")
    taken: list[bytes] = []

    connection.hand_over(answer, taken.append)
    connection.data_received(b"second")
    connection.write(b"back")
    connection.connection_lost(None)

    assert taken == [b"first", b"second", b""]
    assert wire.written == b"back"
    assert not connection.write(b"more")


_PIECES = st.lists(
    st.sampled_from(
        [b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 204 X\r\n", b"HTTP/1.0 200 OK\r\n", b"\r\n", b"\r",
         b"Content-Length: 2\r\n", b"Transfer-Encoding: chunked\r\n", b"Connection: close\r\n",
         b"A: b\r\n", b"2\r\nab\r\n", b"0\r\n\r\n", b"ab", b"1\r\n", b"\n", b" "]
    ),
    max_size=9,
)  # fmt: skip


@settings(max_examples=300)
@given(pieces=_PIECES, places=st.lists(st.integers(0, 300), max_size=6))
def test_another_parser_finds_the_same_answer_where_we_find_one(
    pieces: list[bytes], places: list[int]
) -> None:
    data = b"".join(pieces)

    async def both() -> None:
        whole = await outcome([data])
        found = await outcome(cut(data, places))
        assert found == whole
        if found.endswith(" and again"):
            assert found == f"{await other_parser(data)} and again"

    asyncio.run(both())


async def other_parser(data: bytes) -> str:
    loop = asyncio.get_running_loop()
    try:
        messages, _, _ = HttpResponseParser(BaseProtocol(loop), loop, 2**16).feed_data(data)
    except HttpProcessingError as error:
        return f"refused: {error}"
    ((message, body),) = messages
    return f"{message.code} {await body.read()!r}"
