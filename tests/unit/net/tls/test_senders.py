"""The same bytes for many connections: as if each had been written to alone."""

from __future__ import annotations

import asyncio
import ssl
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from typing import cast

import pytest
import trustme

from proreus.net.bound_socket import bound_socket
from proreus.net.tls.listener import TlsListener
from proreus.net.tls.senders import Senders

WATCHERS = 40
BURST = bytes(range(256)) * 400  # 100 kB
Ends = tuple[list[asyncio.Transport], list[asyncio.StreamReader]]


class Accepted(asyncio.Protocol):
    def __init__(self, made: list[asyncio.Transport]) -> None:
        self._made = made

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._made.append(cast(asyncio.Transport, transport))


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@asynccontextmanager
async def connected(authority: trustme.CA, count: int = WATCHERS) -> AsyncIterator[Ends]:
    """Both ends of as many connections, in the same order."""
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(server)
    transports: list[asyncio.Transport] = []
    listener = TlsListener(
        asyncio.get_running_loop(), server, lambda: Accepted(transports), backlog=5
    )
    port = listener.listen(bound_socket("127.0.0.1", 0))
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    authority.configure_trust(client)
    peers: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []
    try:
        for number in range(count):
            peers.append(await asyncio.open_connection("127.0.0.1", port, ssl=client))
            while len(transports) <= number:  # noqa: ASYNC110  # the other end's last message
                await asyncio.sleep(0)
        yield transports, [reader for reader, _ in peers]
    finally:
        for _, writer in peers:
            writer.transport.abort()
        listener.close()
        listener.abort()
        await listener.wait_closed()


async def test_everybody_gets_all_of_it_in_its_place(authority: trustme.CA) -> None:
    async with connected(authority) as (transports, readers):
        with closing(Senders(threads=3)) as senders:
            for transport in transports:
                transport.write(b"before")
            senders.write_to_all(transports, BURST)
            senders.write_to_all(transports, BURST[::-1])
            for transport in transports:
                transport.write(b"after")

            whole = b"before" + BURST + BURST[::-1] + b"after"
            for reader in readers:
                assert await reader.readexactly(len(whole)) == whole
            assert repr(senders) == "<Senders: 3 of 3 threads>"


async def test_who_does_not_read_holds_up_nobody_and_misses_nothing(authority: trustme.CA) -> None:
    async with connected(authority) as (transports, readers):
        with closing(Senders(threads=1)) as senders:
            lazy, others = readers[7], [*readers[:7], *readers[8:]]
            rounds = 0
            while rounds < 10 or not transports[7].get_write_buffer_size():
                number, rounds = rounds, rounds + 1
                senders.write_to_all(transports, b"%06d" % number + BURST)
                for reader in others:
                    found = await reader.readexactly(6 + len(BURST))
                    assert int(found[:6]) == number

            for number in range(rounds):
                found = await lazy.readexactly(6 + len(BURST))
                assert found == b"%06d" % number + BURST


async def test_a_connection_that_is_gone_is_nobody_elses_trouble(authority: trustme.CA) -> None:
    async with connected(authority) as (transports, readers):
        with closing(Senders(threads=1)) as senders:
            transports[3].close()
            transports[4].abort()

            senders.write_to_all(transports, BURST)

            for number, reader in enumerate(readers):
                if number not in (3, 4):
                    assert await reader.readexactly(len(BURST)) == BURST
            assert await readers[3].read() == b""


@pytest.mark.parametrize(("count", "data"), [(3, BURST), (WATCHERS, b"small")])
async def test_few_or_small_writes_need_no_threads(
    authority: trustme.CA, count: int, data: bytes
) -> None:
    async with connected(authority, count) as (transports, readers):
        with closing(Senders(threads=2)) as senders:
            senders.write_to_all(transports, data)

            for reader in readers:
                assert await reader.readexactly(len(data)) == data
            assert repr(senders) == "<Senders: 0 of 2 threads>"


def sender_threads() -> int:
    return sum(thread.name == "sender" for thread in threading.enumerate())


async def test_nothing_is_left_of_threads_that_are_closed(authority: trustme.CA) -> None:
    async with connected(authority) as (transports, _):
        senders = Senders(threads=2)
        senders.write_to_all(transports, BURST)
        assert sender_threads() == 2

        senders.close()

        assert sender_threads() == 0
