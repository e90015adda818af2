"""In which order those hear of what came together, and when pings are answered."""

from __future__ import annotations

import asyncio

from proreus.aio.clock import SystemClock
from proreus.net.grpc.connection import Connection, MessageStream
from proreus.net.grpc.header_blocks import request_block
from proreus.net.http2 import frames
from proreus.testing.virtual_clock import VirtualClock
from tests.unit.net.grpc.h2_peer import Peer, prefixed

WATCH, CALL = 1, 3
BLOCK = request_block("http", "etcd", "/any", (), None)


class Written(asyncio.Transport):
    """Keeps what is written."""

    def __init__(self) -> None:
        super().__init__()
        self.data = b""
        self.has_put = asyncio.Event()

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.data += data
        if b"put" in self.data:
            self.has_put.set()

    def is_closing(self) -> bool:
        return False

    def abort(self) -> None: ...


async def test_a_watch_hears_of_a_write_before_its_writer_goes_on() -> None:
    heard: list[str] = []
    transport, peer = Written(), Peer()
    connection = Connection(SystemClock(), timeout_s=60)
    connection.connection_made(transport)
    connection.data_received(peer.h2.data_to_send())

    async def follow(stream: MessageStream) -> None:
        heard.extend(message.decode() for message in await stream.read())

    async def write() -> None:
        heard.append((await connection.call(BLOCK, b"put")).decode())

    async with connection.stream(BLOCK, b"watch", ends=False) as stream:
        tasks = [asyncio.create_task(follow(stream)), asyncio.create_task(write())]
        await transport.has_put.wait()
        peer.h2.receive_data(transport.data)
        peer.answer(CALL, b"written")
        peer.head(WATCH)
        peer.data(WATCH, prefixed(b"changed"))
        connection.data_received(peer.h2.data_to_send())
        await asyncio.gather(*tasks)
    connection.close("the test is over")

    assert heard == ["changed", "written"]


async def test_pings_are_answered_together_and_soon() -> None:
    """Each answer would have etcd send another ping, and wake us, with the next call."""
    clock, transport, peer = VirtualClock(), Written(), Peer()
    connection = Connection(clock, timeout_s=60)
    connection.connection_made(transport)
    connection.data_received(peer.h2.data_to_send())
    for payload in (b"01234567", b"89abcdef"):
        peer.h2.ping(payload)
        connection.data_received(peer.h2.data_to_send())
    await clock.advance(0.05)
    before = transport.data

    await clock.advance(0.05)

    answers = b"".join(map(frames.ping_ack, (b"01234567", b"89abcdef")))
    assert transport.data == before + answers
    assert answers not in before
    connection.close("the test is over")
