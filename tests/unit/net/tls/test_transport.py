"""TLS on a socket: order, back-pressure, goodbyes. The peer is a blocking socket in a thread."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import resource
import select
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast

import pytest
import trustme
from hypothesis import given, settings
from hypothesis import strategies as st

from proreus.net.bound_socket import bound_socket
from proreus.net.tls.handshakes import STEPS_PER_TURN
from proreus.net.tls.listener import TlsListener
from proreus.net.tls.transport import TlsTransport

LARGE = 8 * 1024 * 1024


class Recorder(asyncio.Protocol):
    """Notes what a transport tells its protocol."""

    def __init__(self) -> None:
        self.transport: asyncio.Transport | None = None
        self.received = bytearray()
        self.lost: asyncio.Event = asyncio.Event()
        self.made = asyncio.Event()
        self.calls: list[str] = []
        self.react: Callable[[bytes], None] = lambda data: None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self.made.set()

    def data_received(self, data: bytes) -> None:
        self.received += data
        self.react(data)

    def pause_writing(self) -> None:
        self.calls.append("pause")

    def resume_writing(self) -> None:
        self.calls.append("resume")

    def connection_lost(self, exc: Exception | None) -> None:
        self.calls.append("lost")
        self.lost.set()


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@asynccontextmanager
async def connected(authority: trustme.CA) -> AsyncIterator[tuple[Recorder, ssl.SSLSocket]]:
    """The server's protocol and the client's blocking socket."""
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(server)
    recorder = Recorder()
    listener = TlsListener(asyncio.get_running_loop(), server, lambda: recorder, backlog=5)
    port = listener.listen(bound_socket("127.0.0.1", 0))
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    authority.configure_trust(client)
    raw = await asyncio.to_thread(socket.create_connection, ("127.0.0.1", port), 60)
    peer = await asyncio.to_thread(client.wrap_socket, raw, server_hostname="127.0.0.1")
    try:
        await recorder.made.wait()
        yield recorder, peer
    finally:
        peer.close()
        listener.close()
        listener.abort()
        await listener.wait_closed()


def read_all(peer: ssl.SSLSocket) -> bytes:
    found = bytearray()
    while piece := peer.recv(1 << 20):
        found += piece
    return bytes(found)


def sender(recorder: Recorder) -> asyncio.Transport:
    assert recorder.transport is not None
    return recorder.transport


async def test_what_is_written_before_a_close_still_arrives(authority: trustme.CA) -> None:
    payload = bytes(range(256)) * (LARGE // 256)
    async with connected(authority) as (recorder, peer):
        sender(recorder).write(payload)
        sender(recorder).close()

        assert await asyncio.to_thread(read_all, peer) == payload
        peer.close()
        await recorder.lost.wait()
    assert recorder.calls[-1] == "lost"


async def test_a_reader_that_does_not_read_pauses_the_writer_until_it_does(
    authority: trustme.CA,
) -> None:
    async with connected(authority) as (recorder, peer):
        transport = sender(recorder)
        transport.write(bytes(LARGE))
        assert recorder.calls == ["pause"]
        assert 0 < transport.get_write_buffer_size() < LARGE
        transport.write(b"end")
        transport.close()

        found = await asyncio.to_thread(read_all, peer)

        assert len(found) == LARGE + 3
        assert found.endswith(b"end")
        assert "resume" in recorder.calls


async def test_nothing_arrives_after_an_abort(authority: trustme.CA) -> None:
    async with connected(authority) as (recorder, peer):
        sender(recorder).write(bytes(LARGE))
        sender(recorder).abort()
        sender(recorder).write(b"too late")
        await recorder.lost.wait()

        found = await asyncio.to_thread(lambda: _until_broken(peer))

    assert len(found) < LARGE
    assert recorder.calls.count("lost") == 1


def _until_broken(peer: ssl.SSLSocket) -> bytes:
    found = bytearray()
    try:
        while piece := peer.recv(1 << 20):
            found += piece
    except OSError:
        pass
    return bytes(found)


async def test_more_than_a_record_is_read_while_the_protocol_wants_it(
    authority: trustme.CA,
) -> None:
    async with connected(authority) as (recorder, peer):
        enough = asyncio.Event()
        recorder.react = lambda data: enough.set() if len(recorder.received) == LARGE else None

        await asyncio.to_thread(peer.sendall, b"x" * LARGE)

        await enough.wait()


async def test_a_paused_transport_reads_nothing(authority: trustme.CA) -> None:
    async with connected(authority) as (recorder, peer):
        transport = sender(recorder)
        transport.pause_reading()
        await asyncio.to_thread(peer.sendall, b"hello")
        # Two turns of the loop in which it would have been read.
        await asyncio.to_thread(lambda: None)
        await asyncio.to_thread(lambda: None)
        assert not recorder.received

        heard = asyncio.Event()
        recorder.react = lambda data: heard.set()
        transport.resume_reading()

        await heard.wait()
        assert recorder.received == b"hello"


async def test_a_client_that_vanishes_is_reported_once(authority: trustme.CA) -> None:
    async with connected(authority) as (recorder, peer):
        peer.close()

        await recorder.lost.wait()
        sender(recorder).close()
        sender(recorder).abort()
    assert recorder.calls == ["lost"]


async def test_noise_instead_of_a_handshake_reaches_no_protocol(authority: trustme.CA) -> None:
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(server)
    recorder = Recorder()
    listener = TlsListener(asyncio.get_running_loop(), server, lambda: recorder, backlog=5)
    reader, writer = await asyncio.open_connection(
        "127.0.0.1", listener.listen(bound_socket("127.0.0.1", 0))
    )
    writer.write(b"GET / HTTP/1.1\r\n\r\n")

    with contextlib.suppress(ConnectionError):
        await reader.read()  # an alert, or nothing: in any case the end
    writer.close()
    listener.close()
    await listener.wait_closed()

    assert recorder.transport is None
    assert recorder.calls == []


async def test_clients_that_are_gone_before_they_are_accepted_leave_no_trace(
    authority: trustme.CA, caplog: pytest.LogCaptureFixture
) -> None:
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(server)
    recorder = Recorder()
    listener = TlsListener(asyncio.get_running_loop(), server, lambda: recorder, backlog=50)
    port = listener.listen(bound_socket("127.0.0.1", 0))
    for number in range(20):  # while nobody accepts: this is the loop's own thread
        gone = socket.create_connection(("127.0.0.1", port))
        if number % 2:
            gone.send(b"\x16\x03\x01\x02\x00\x01")
        gone.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        gone.close()

    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    authority.configure_trust(client)
    _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=client)
    await recorder.made.wait()

    writer.close()
    await recorder.lost.wait()
    listener.close()
    await listener.wait_closed()
    assert not caplog.records


def hello() -> bytes:
    """What a client says first."""
    sent, context = ssl.MemoryBIO(), ssl.create_default_context()
    with contextlib.suppress(ssl.SSLWantReadError):
        context.wrap_bio(ssl.MemoryBIO(), sent, server_hostname="localhost").do_handshake()
    return sent.read()


@pytest.fixture
async def listener(authority: trustme.CA) -> AsyncIterator[TlsListener]:
    """Lets eight handshakes wait for their clients."""
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(server)
    loop = asyncio.get_running_loop()
    listener = TlsListener(loop, server, Recorder, backlog=512, handshakes_max=8)
    yield listener
    listener.close()
    listener.abort()
    await listener.wait_closed()


def connect(port: int, count: int) -> list[socket.socket]:
    """The kernel connects them; nobody has accepted them yet."""
    return [socket.create_connection(("127.0.0.1", port)) for _ in range(count)]


async def heard(clients: list[socket.socket], count: int) -> list[socket.socket]:
    """Those that were answered or dropped, once they are so many."""
    async with asyncio.timeout(60):
        while len(found := select.select(clients, (), (), 0)[0]) < count:  # noqa: ASYNC110
            await asyncio.sleep(0)
    return found


async def test_of_many_hellos_at_once_a_few_are_answered_in_each_turn_of_the_loop(
    listener: TlsListener, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop, steps = asyncio.get_running_loop(), list[int]()  # of each turn
    step = TlsTransport.continue_handshake

    def begin_turn() -> None:
        steps.append(0)
        loop.call_soon(begin_turn)

    def counted(transport: TlsTransport) -> None:
        steps[-1] += 1
        step(transport)

    monkeypatch.setattr(TlsTransport, "continue_handshake", counted)
    said, clients = hello(), connect(listener.listen(bound_socket("127.0.0.1", 0)), 100)
    for client in clients:
        client.sendall(said)

    begin_turn()
    await heard(clients, len(clients))

    for client in clients:
        client.close()
    assert sum(steps) >= len(clients)
    assert max(steps) <= STEPS_PER_TURN


async def test_of_too_many_clients_that_say_nothing_the_oldest_are_dropped(
    authority: trustme.CA, listener: TlsListener
) -> None:
    port = listener.listen(bound_socket("127.0.0.1", 0))
    silent = connect(port, 20)

    dropped = await heard(silent, 12)
    trusting = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    authority.configure_trust(trusting)
    _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=trusting)

    writer.close()
    for client in silent:
        client.close()
    assert dropped == silent[:12]


async def test_a_want_of_descriptors_is_reported_once_and_then_that_it_is_over(
    listener: TlsListener, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    clients = connect(listener.listen(bound_socket("127.0.0.1", 0)), 3)
    for client in clients:
        client.sendall(b"no TLS")
    with no_descriptors_left():
        async with asyncio.timeout(60):
            while not caplog.messages:  # noqa: ASYNC110  # the listener has nothing else to show
                await asyncio.sleep(0)
        listener._accept()  # it would try again by itself, a little later

    await heard(clients, 3)
    for client in clients:
        client.close()
    assert caplog.messages == [
        "connections cannot be accepted and wait: Too many open files",
        "connections are accepted again",
    ]


@contextlib.contextmanager
def no_descriptors_left() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    highest = max(int(one.name) for one in Path("/proc/self/fd").iterdir())
    resource.setrlimit(resource.RLIMIT_NOFILE, (highest + 1, hard))
    taken: list[int] = []
    try:
        with contextlib.suppress(OSError):
            while True:
                taken.append(os.dup(0))
        yield
    finally:
        for descriptor in taken:
            os.close(descriptor)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@settings(max_examples=20)
@given(sizes=st.lists(st.integers(0, 70_000), min_size=1, max_size=60))
def test_writes_arrive_in_order_however_they_are_cut(sizes: list[int]) -> None:
    async def run() -> None:
        authority = trustme.CA()
        pieces = [bytes([number % 251]) * size for number, size in enumerate(sizes)]
        async with connected(authority) as (recorder, peer):
            for piece in pieces:
                sender(recorder).write(piece)
            sender(recorder).close()
            assert await asyncio.to_thread(read_all, peer) == b"".join(pieces)

    asyncio.run(run())
