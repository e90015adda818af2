"""Bodies: where they end, however their bytes are cut, and what cannot be read."""

from __future__ import annotations

import asyncio
from itertools import pairwise

import pytest
from aiohttp.base_protocol import BaseProtocol
from aiohttp.http_parser import HttpRequestParser
from hypothesis import given
from hypothesis import strategies as st

from proreus.net.http1.request_body import BadChunk, Chunked, Framing, Sized

HEAD = b"PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
NEXT = b"GET / HTTP/1.1\r\n"


def taken(framing: Framing, pieces: list[bytes]) -> tuple[bytes, bytes]:
    """The body and what is behind it. Raises BadChunk."""
    body, behind = b"", b""
    for piece in pieces:
        if framing.is_done:
            behind += piece
        else:
            more, rest = framing.take(piece)
            body, behind = body + more, behind + rest
    return body, behind


def cut(data: bytes, places: list[int]) -> list[bytes]:
    bounds = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    return [data[start:end] for start, end in pairwise(bounds) if start < end]


_PLACES = st.lists(st.integers(0, 10_000), max_size=12)
_EXTENSIONS = st.sampled_from([b"", b";a", b" ;a=b", b';a="b c"'])
_TRAILERS = st.sampled_from([b"", b"A: b\r\n", b"A:\r\nB: c\r\n"])


@given(
    chunks=st.lists(st.tuples(st.binary(min_size=1, max_size=40), _EXTENSIONS), max_size=5),
    trailers=_TRAILERS,
    places=_PLACES,
)
def test_chunks_are_put_together_however_they_are_cut(
    chunks: list[tuple[bytes, bytes]], trailers: bytes, places: list[int]
) -> None:
    sent = b"".join(b"%X%b\r\n%b\r\n" % (len(data), more, data) for data, more in chunks)
    framing = Chunked()

    body, behind = taken(framing, cut(sent + b"0\r\n" + trailers + b"\r\n" + NEXT, places))

    assert (body, behind) == (b"".join(data for data, _ in chunks), NEXT)
    assert framing.is_done


@given(body=st.binary(max_size=60), places=_PLACES)
def test_a_body_of_a_declared_length_ends_there_however_it_is_cut(
    body: bytes, places: list[int]
) -> None:
    assert taken(Sized(len(body)), cut(body + NEXT, places)) == (body, NEXT)


BAD = {
    "no size": b"xyz\r\n",
    "an empty size": b"\r\n",
    "a negative size": b"-1\r\n",
    "a size with a sign": b"+1\r\na\r\n",
    "a size with a prefix": b"0x1\r\na\r\n",
    "a size with an underscore": b"1_0\r\n",
    "a space before a size": b" 1\r\na\r\n",
    "a space behind a size": b"1 \r\na\r\n",
    "a size of 16 digits": b"1000000000000000\r\n",
    "a size line that ends with a line feed": b"1\na\r\n0\r\n\r\n",
    "an extension with a line feed": b"1;a\nb\r\na\r\n",
    "a chunk that is too long": b"1\r\nab\r\n",
    "a chunk that ends with a line feed": b"1\r\na\n0\r\n\r\n",
    "a size line without end": b"1;" + b"a" * 5_000,
    "trailers without end": b"0\r\n" + b"A: b\r\n" * 20_000,
    "a trailer that is no header": b"0\r\nGET / HTTP/1.1\r\n\r\n",
    "a folded trailer": b"0\r\nA: b\r\n c\r\n\r\n",
}


@pytest.mark.parametrize("step", [1, 7, 1_000_000])
@pytest.mark.parametrize("what", BAD)
def test_chunks_whose_end_cannot_be_known_are_refused(what: str, step: int) -> None:
    data = BAD[what]

    with pytest.raises(BadChunk):
        taken(Chunked(), [data[start : start + step] for start in range(0, len(data), step)])


@given(
    data=st.lists(
        st.sampled_from([b"0", b"1", b"2", b"a", b";", b"\r\n", b"\r", b"\n", b" ", b"0\r\n\r\n"]),
        max_size=14,
    ).map(b"".join),
    places=_PLACES,
)
def test_another_parser_finds_the_same_body_where_we_find_one(
    data: bytes, places: list[int]
) -> None:
    framing = Chunked()
    try:
        body, behind = taken(framing, cut(data, places))
    except BadChunk:
        return
    if framing.is_done:
        assert other_parser(data.removesuffix(behind)) == body


def other_parser(data: bytes) -> bytes:
    async def read() -> bytes:
        loop = asyncio.get_running_loop()
        parser = HttpRequestParser(BaseProtocol(loop), loop, 2**16)
        ((_, body),), _, _ = parser.feed_data(HEAD + data)
        return bytes(await body.read())

    return asyncio.run(read())
