"""A pod's ports over one WebSocket, two channels for each: data and errors.

The older of two ways, which scripting clients speak; kubectl's is ``tunnel``. The ports are in the
query, every channel begins with its port's number, and the socket closes when all ports are done.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from proreus.aio.clock import Clock
from proreus.api.wire import channels
from proreus.api.wire.channels import ChannelError, ChannelMessage, ChannelProtocol
from proreus.api.wire.query import Query
from proreus.cluster.kubelet.runtimes.streams import StreamError
from proreus.cluster.kubelet.server.refusal import RequestRefused
from proreus.net.websocket.keepalive import wait_silent
from proreus.net.websocket.stream import WebSocketStream

PIECE_BYTES = 32 * 1024

Connect = Callable[[int], Awaitable[tuple[asyncio.StreamReader, asyncio.StreamWriter]]]


class ForwardFailed(Exception):
    """Its text is for the user."""


@dataclass(frozen=True, slots=True)
class PodPorts:
    """Connections into one pod."""

    name: str
    uid: str
    connect: Connect

    async def open(self, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Raises ForwardFailed."""
        try:
            return await self.connect(port)
        except (StreamError, OSError) as error:
            where = f"error forwarding port {port} to pod {self.name}, uid {self.uid}"
            raise ForwardFailed(f"{where}: {error}") from error


def wanted_ports(query: Query) -> list[int]:
    """Raises RequestRefused."""
    said = [port for text in query.get("port") or () for port in text.split(",")]
    if not said:
        raise RequestRefused(400, 'query parameter "port" is required')
    ports = []
    for text in said:
        if not text:
            raise RequestRefused(400, 'query parameter "port" cannot be empty')
        if not text.isascii() or not text.isdecimal() or int(text) > 65535:
            raise RequestRefused(400, f'unable to parse "{text}" as a port')
        if int(text) < 1:
            raise RequestRefused(400, f'port "{text}" must be > 0')
        ports.append(int(text))
    return ports


@dataclass(slots=True)
class ChannelForward:
    """``run`` it once the handshake is answered."""

    socket: WebSocketStream
    protocol: ChannelProtocol
    pod: PodPorts
    clock: Clock

    async def run(self, ports: list[int]) -> None:
        for index, port in enumerate(ports):
            for channel in (2 * index, 2 * index + 1):
                self._write(channel, channels.port_announcement(port))
        writers: dict[int, asyncio.StreamWriter] = {}
        try:
            readers = await self._open(ports, writers)
            if readers:
                await self._exchange(readers, writers)
        finally:
            for writer in writers.values():
                writer.close()
        await self.socket.close()

    async def _open(
        self, ports: list[int], writers: dict[int, asyncio.StreamWriter]
    ) -> dict[int, asyncio.StreamReader]:
        """By data channel. A port that cannot be opened says so on its error channel."""
        readers = {}
        for index, port in enumerate(ports):
            try:
                readers[2 * index], writers[2 * index] = await self.pod.open(port)
            except ForwardFailed as error:
                self._write(2 * index + 1, str(error).encode())
        return readers

    async def _exchange(
        self, readers: dict[int, asyncio.StreamReader], writers: dict[int, asyncio.StreamWriter]
    ) -> None:
        """Until every port has said all it has to say, or the client leaves."""
        async with asyncio.TaskGroup() as tasks:
            listening = tasks.create_task(self._listen(writers))
            answers = [
                tasks.create_task(self._answer(channel, reader))
                for channel, reader in readers.items()
            ]
            done = tasks.create_task(_all(answers))
            silent = tasks.create_task(wait_silent(self.socket, self.clock))
            await asyncio.wait((listening, done, silent), return_when=asyncio.FIRST_COMPLETED)
            for task in (listening, done, silent, *answers):
                task.cancel()

    async def _listen(self, writers: dict[int, asyncio.StreamWriter]) -> None:
        while (raw := await self.socket.receive()) is not None:
            try:
                message = self.protocol.decode(raw)
            except ChannelError:
                return
            writer = writers.get(message.channel)
            if writer is not None and isinstance(message, ChannelMessage) and message.payload:
                # A port that has closed takes no more; the others go on.
                with contextlib.suppress(OSError):
                    writer.write(message.payload)
                    await writer.drain()

    async def _answer(self, channel: int, reader: asyncio.StreamReader) -> None:
        with contextlib.suppress(OSError):
            while piece := await reader.read(PIECE_BYTES):
                self._write(channel, piece)
                await self.socket.wait_written()

    def _write(self, channel: int, payload: bytes) -> None:
        message = self.protocol.encode(channel, payload)
        self.socket.write_message(message, binary=not self.protocol.is_base64)


async def _all(tasks: list[asyncio.Task[None]]) -> None:
    await asyncio.wait(tasks)
