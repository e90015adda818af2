"""The same bytes are the same requests, however they are cut and whatever the server remembers.

Headers that came before are found by their bytes, others are parsed; a request that arrives alone
takes a shorter way than one that arrives in pieces. ``corpus`` has streams that once set such ways
apart, here or in other servers. A new finding is added there as a file.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple, cast

import pytest
from aiohttp.base_protocol import BaseProtocol
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.http_parser import HttpRequestParser
from hypothesis import given
from hypothesis import strategies as st

from proreus.aio.clock import SystemClock
from proreus.net.http1.messages import Answer, Head, Request, RequestBody, WholeBody
from proreus.net.http1.request_body import IncomingBody
from proreus.net.http1.request_head import Heads
from proreus.net.http1.request_reader import RequestReader
from proreus.net.http1.server import HttpServer

CORPUS = {
    path.stem: path.read_bytes() for path in sorted(Path(__file__).with_name("corpus").iterdir())
}


class Read(NamedTuple):
    """One request as it was read. ``body`` is None unless all of it came."""

    method: str
    target: str
    headers: tuple[tuple[str, str], ...]
    is_last: bool
    body: bytes | None


class Recorder(RequestReader):
    """Answers no request, but makes room for the next ones as if it did."""

    def __init__(self, heads: Heads) -> None:
        server = HttpServer(_no_handler, SystemClock())
        server.heads = heads
        super().__init__(server, cast(asyncio.AbstractEventLoop, None))
        self.taken: list[tuple[Head, RequestBody]] = []
        self.is_refused = False

    def requested(self, head: Head, body: RequestBody) -> None:
        self.taken.append((head, body))

    def broken(self) -> None:
        self.is_refused = True

    def requests(self) -> Iterator[Read]:
        for head, body in self.taken:
            sent: bytes | None = b""
            if isinstance(body, IncomingBody):
                sent = b"".join(body._pieces) if body.has_arrived else None
            elif isinstance(body, WholeBody):
                sent = body.take()
            headers = tuple((name.lower(), value) for name, value in head.headers.items())
            yield Read(head.method, head.target, headers, head.should_close, sent)


async def _no_handler(request: Request) -> Answer:
    raise AssertionError("no request is answered here")


def read(data: bytes, places: list[int], heads: Heads) -> tuple[list[Read], bool]:
    """The requests in ``data``, cut at ``places``, and whether it was refused at last."""
    reader = Recorder(heads)
    bounds = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    for start, end in pairwise(bounds):
        if start < end:
            reader.data_received(data[start:end])
    return list(reader.requests()), reader.is_refused


def all_ways(data: bytes, places: list[int]) -> tuple[list[Read], bool]:
    """What all ways of reading ``data`` agree on."""
    heads = Heads()
    at_once = read(data, [], heads)
    assert read(data, [], heads) == at_once  # with what the server remembers now
    assert read(data, places, heads) == at_once
    assert read(data, places, Heads()) == at_once
    return at_once


@pytest.mark.parametrize("name", CORPUS)
def test_a_stream_is_the_same_requests_however_it_is_cut(name: str) -> None:
    data = CORPUS[name]
    every_byte = list(range(len(data)))

    agreed = all_ways(data, every_byte)

    heads = Heads()
    assert all(read(data, [place], heads) == agreed for place in every_byte)


@given(data=st.data(), places=st.lists(st.integers(0, 10_000), max_size=8))
def test_a_damaged_stream_is_the_same_requests_however_it_is_cut(
    data: st.DataObject, places: list[int]
) -> None:
    stream = bytearray(CORPUS[data.draw(st.sampled_from(sorted(CORPUS)))])
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(stream)))
        stream[place : place + data.draw(st.integers(0, 2))] = data.draw(st.binary(max_size=2))

    all_ways(bytes(stream), places)


@pytest.mark.parametrize("name", CORPUS)
def test_what_is_read_as_requests_is_read_so_by_another_parser(name: str) -> None:
    requests, is_refused = all_ways(CORPUS[name], [])
    if is_refused or not requests or requests[-1].body is None or requests[-1].is_last:
        return  # behind the last request the other parser reads on

    ours = [(one.method, one.target, one.body) for one in requests]
    assert other_parser(CORPUS[name])[: len(ours)] == ours


def other_parser(data: bytes) -> list[tuple[str, str, bytes]]:
    loop = asyncio.new_event_loop()
    try:
        parser = HttpRequestParser(BaseProtocol(loop), loop, 2**16)
        messages, _, _ = parser.feed_data(data)
        return [
            (message.method, message.path, b"".join(getattr(body, "_buffer", ())))
            for message, body in messages
        ]
    except HttpProcessingError as error:
        raise AssertionError(f"the other parser refuses it: {error}") from error
    finally:
        loop.close()
