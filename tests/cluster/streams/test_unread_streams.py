"""What nobody reads waits at its sender: a stream holds little, however long its messages are."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import os
import resource
import socket
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import urlencode

import pytest

from proreus.api.wire import channels
from proreus.api.wire.channels import ChannelClosed, ChannelMessage, ChannelProtocol
from proreus.api.wire.spdy import Data, FrameWriter, SynStream
from proreus.net.http1.server import HttpServer
from tests.cluster.streams.conftest import Stage

MESSAGE_BYTES = 15 * 1024 * 1024  # one frame of SPDY can carry as much
TAKEN_MAX = 10 * 1024 * 1024  # of it 4 MiB in the kernel between API server and kubelet
SLICE_BYTES = 64 * 1024
PATIENCE_S = 60
BINARY, MASKED, EIGHT_BYTES = 0x82, 0x80, 127
POD = "/api/v1/namespaces/default/pods/web"


class Sender:
    """A client that sends one long message, slice by slice; ``taken`` counts what has left it."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer
        self.taken = 0

    async def shake_hands(self, path: str, token: str, protocol: str) -> None:
        key = base64.b64encode(os.urandom(16)).decode()
        self.writer.write(
            f"GET {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n"
            "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
            f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Protocol: {protocol}\r\n\r\n".encode()
        )
        head = await self.reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 101 "), head

    async def send(self, message: bytes) -> None:
        head = bytes((BINARY, MASKED | EIGHT_BYTES)) + len(message).to_bytes(8, "big")
        self.writer.write(head + bytes(4))
        for start in range(0, len(message), SLICE_BYTES):
            self.writer.write(message[start : start + SLICE_BYTES])
            await self.writer.drain()
            self.taken = start + SLICE_BYTES

    async def receive(self) -> bytes:
        _, size = await self.reader.readexactly(2)
        if size >= 126:
            size = int.from_bytes(await self.reader.readexactly(2 if size == 126 else 8), "big")
        return await self.reader.readexactly(size)


def _payload(message: ChannelMessage | ChannelClosed) -> bytes:
    assert isinstance(message, ChannelMessage)
    return message.payload


@contextlib.asynccontextmanager
async def connected(stage: Stage, path: str, protocol: ChannelProtocol) -> AsyncIterator[Sender]:
    config = stage.server.config()
    tls = ssl.create_default_context(cafile=config.tls.ca_file)
    host, _, port = stage.server.url.removeprefix("https://").rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port), ssl=tls)
    try:
        sender = Sender(reader, writer)
        await sender.shake_hands(path, stage.server.token, protocol.name)
        bound_kernel_buffers(stage, writer)
        yield sender
    finally:
        writer.transport.abort()
        with contextlib.suppress(OSError):
            await writer.wait_closed()


def bound_kernel_buffers(stage: Stage, writer: asyncio.StreamWriter) -> None:
    """Else they grow to what the machine allows, which may be more than the whole message."""
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SLICE_BYTES)
    for http in (stage.server.api.parts.http, stage.kubelet._http):
        assert http is not None
        for connection in http.connections:
            accepted = connection.require_transport().get_extra_info("socket")
            accepted.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SLICE_BYTES)


async def wait_held_up(http: HttpServer | None) -> None:
    """Until this server reads nothing more of one of its clients."""
    assert http is not None
    async with asyncio.timeout(PATIENCE_S):
        while all(  # noqa: ASYNC110  # a transport tells nobody
            one.transport is None or one.transport.is_reading() for one in http.connections
        ):
            await asyncio.sleep(0.01)


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


@pytest.mark.parametrize("protocol", [channels.V5, channels.V4_BASE64], ids=lambda one: one.name)
async def test_input_that_a_command_does_not_read_waits_and_comes_whole(
    stage: Stage, tmp_path: Path, protocol: ChannelProtocol
) -> None:
    await stage.pod()
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    size = MESSAGE_BYTES * 3 // 4 if protocol.is_base64 else MESSAGE_BYTES
    content = os.urandom(size - size % 3)
    script = f"read go < {gate}; head -c {len(content)} | sha256sum"
    asked = [("stdin", "1"), ("stdout", "1")] + [("command", w) for w in ("sh", "-c", script)]
    async with connected(stage, f"{POD}/exec?{urlencode(asked)}", protocol) as sender:
        sending = asyncio.create_task(sender.send(protocol.encode(channels.STDIN, content)))
        await wait_held_up(stage.server.api.parts.http)

        taken = sender.taken
        await asyncio.to_thread(gate.write_text, "go\n")
        async with asyncio.timeout(PATIENCE_S):
            await sending
            while not (said := _payload(protocol.decode(await sender.receive()))):
                pass

    assert taken < TAKEN_MAX
    assert said == f"{hashlib.sha256(content).hexdigest()}  -\n".encode()


class Sink:
    """A server that reads nothing until ``gate`` is open, and then all of ``size`` bytes."""

    def __init__(self, size: int) -> None:
        self.gate = asyncio.Event()
        self.received: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._size = size

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.closing(writer):
            await self.gate.wait()
            self.received.set_result(await reader.readexactly(self._size))


def to_port(protocol: ChannelProtocol, port: int, content: bytes) -> bytes:
    """One message that sends all of it to a pod's port."""
    if protocol is not channels.SPDY_TUNNEL:
        return protocol.encode(0, content)
    writer = FrameWriter()
    about = {"port": str(port), "requestID": "0"}
    frames = (
        SynStream(1, {"streamType": "error", **about}, is_last=True),
        SynStream(3, {"streamType": "data", **about}),
        Data(3, content),
    )
    return b"".join(writer.encode(frame) for frame in frames)


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="Linux tells what is resident")
@pytest.mark.parametrize("protocol", [channels.V4, channels.SPDY_TUNNEL], ids=lambda one: one.name)
async def test_what_a_pod_does_not_read_of_its_port_waits_and_comes_whole(
    stage: Stage, protocol: ChannelProtocol
) -> None:
    await stage.pod()
    content = os.urandom(MESSAGE_BYTES)
    sink = Sink(len(content))
    listening = socket.create_server(("127.0.0.1", 0))
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SLICE_BYTES)  # else it takes much
    listener = await asyncio.start_server(sink.serve, sock=listening)
    port = listening.getsockname()[1]
    path = f"{POD}/portforward?ports={port}"
    async with listener, connected(stage, path, protocol) as sender:
        message = to_port(protocol, port, content)
        before = resident_bytes()
        sending = asyncio.create_task(sender.send(message))
        await wait_held_up(stage.kubelet._http)

        grown = resident_bytes() - before
        sink.gate.set()
        async with asyncio.timeout(PATIENCE_S):
            await sending
            received = await sink.received

    assert grown < MESSAGE_BYTES
    assert received == content
