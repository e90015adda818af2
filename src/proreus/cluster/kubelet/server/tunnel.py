"""``kubectl port-forward``: SPDY streams inside one WebSocket, two for each local connection.

A stream says in its headers what it is (data or errors), for which port, and which request it
belongs to. When both streams of a request are there, the port is opened; what the pod says goes out
on the data stream, what went wrong on the error stream, and both are closed at the end.

A slow port holds up the tunnel's other ports once its queue is full: the frames of all of them
share one connection, and SPDY's windows, which would tell them apart, Kubernetes does not speak.
"""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, field

from proreus.aio.clock import Clock
from proreus.aio.mailbox import Mailbox, MailboxClosed
from proreus.api.wire import spdy
from proreus.api.wire.spdy import Data, Frame, FrameReader, FrameWriter, Ping, Reset, SynStream
from proreus.cluster.kubelet.server.forward import PIECE_BYTES, ForwardFailed, PodPorts
from proreus.net.websocket.keepalive import wait_silent
from proreus.net.websocket.stream import WebSocketStream

_STREAMS_MAX = 512
_FRAMES_WAITING_MAX = 4  # of each forward, at most ``spdy.DATA_PIECE_BYTES`` each


def _inbox() -> Mailbox[bytes]:
    """b"" says that the client sends no more."""
    return Mailbox(limit=_FRAMES_WAITING_MAX)


@dataclass(slots=True)
class _Forward:
    """One local connection at the client. A stream number is 0 until its stream is there."""

    port: int
    data: int = 0
    error: int = 0
    from_client: Mailbox[bytes] = field(default_factory=_inbox)
    task: asyncio.Task[None] | None = None


class Tunnel:
    """``run`` it once the handshake is answered; it ends when the client does."""

    def __init__(self, socket: WebSocketStream, pod: PodPorts, clock: Clock) -> None:
        self._socket = socket
        self._clock = clock
        self._pod = pod
        self._reader = FrameReader()
        self._writer = FrameWriter()
        self._requests: dict[str, _Forward] = {}
        self._streams: dict[int, tuple[str, _Forward]] = {}

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            listening = tasks.create_task(self._listen(tasks))
            silent = tasks.create_task(wait_silent(self._socket, self._clock))
            await asyncio.wait((listening, silent), return_when=asyncio.FIRST_COMPLETED)
            forwards = [one.task for one in self._requests.values() if one.task is not None]
            for task in (listening, silent, *forwards):
                task.cancel()
        await self._socket.close()

    async def _listen(self, tasks: asyncio.TaskGroup) -> None:
        """Until the client leaves, or nothing more can be understood of what it says."""
        with contextlib.suppress(spdy.SpdyError):
            while (message := await self._socket.receive()) is not None:
                if isinstance(message, str):
                    return
                for frame in self._reader.feed(message):
                    await self._take(frame, tasks)

    async def _take(self, frame: Frame, tasks: asyncio.TaskGroup) -> None:
        match frame:
            case SynStream():
                self._open(frame, tasks)
            case Data(stream, payload, is_last):
                await self._hand_on(stream, payload, is_last=is_last)
            case Reset(stream):
                _, forward = self._streams.get(stream, ("", None))
                if forward is not None and forward.task is not None:
                    forward.task.cancel()
            case Ping(number) if number % 2:
                self._send(frame)
            case _:
                pass

    def _open(self, frame: SynStream, tasks: asyncio.TaskGroup) -> None:
        headers = frame.headers
        kind, request = headers.get("streamtype", ""), headers.get("requestid", "")
        port = _port(headers.get("port", ""))
        if kind not in ("data", "error") or not port or len(self._streams) >= _STREAMS_MAX:
            self._send(Reset(frame.stream, spdy.REFUSED))
            return
        request = request or str(frame.stream - (2 if kind == "data" else 0))  # old clients
        forward = self._requests.setdefault(request, _Forward(port))
        if kind == "data":
            forward.data = frame.stream
        else:
            forward.error = frame.stream
        self._streams[frame.stream] = (kind, forward)
        self._send(spdy.SynReply(frame.stream, {}))
        if forward.data and forward.error and forward.task is None:
            forward.task = tasks.create_task(self._forward(request, forward))

    async def _hand_on(self, stream: int, payload: bytes, *, is_last: bool) -> None:
        kind, forward = self._streams.get(stream, ("", None))
        if forward is None or kind != "data":
            return
        with contextlib.suppress(MailboxClosed):
            if payload:
                await forward.from_client.put(payload)
            if is_last:
                await forward.from_client.put(b"")

    async def _forward(self, request: str, forward: _Forward) -> None:
        try:
            reader, writer = await self._pod.open(forward.port)
        except ForwardFailed as error:
            self._send(Data(forward.error, str(error).encode()))
        else:
            await self._exchange(forward, reader, writer)
        finally:
            forward.from_client.close()
            for stream in (forward.data, forward.error):
                self._streams.pop(stream, None)
                self._send(Data(stream, b"", is_last=True))
            self._requests.pop(request, None)

    async def _exchange(
        self, forward: _Forward, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Until the pod has said all; a client that sends no more may still want to hear it."""
        try:
            async with asyncio.TaskGroup() as both:
                sending = both.create_task(_send_on(forward.from_client, writer))
                with contextlib.suppress(OSError):
                    while piece := await reader.read(PIECE_BYTES):
                        self._send(Data(forward.data, piece))
                        await self._socket.wait_written()
                sending.cancel()
        finally:
            writer.close()

    def _send(self, frame: Frame) -> None:
        self._socket.write_message(self._writer.encode(frame), binary=True)


async def _send_on(pieces: Mailbox[bytes], writer: asyncio.StreamWriter) -> None:
    # The pod may hang up at any time; what it said before is still on its way.
    with contextlib.suppress(OSError, MailboxClosed):
        while piece := await pieces.get():
            writer.write(piece)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()


def _port(text: str) -> int:
    """0 if it is none."""
    if not text.isascii() or not text.isdecimal() or len(text) > 5:
        return 0
    return int(text) if int(text) < 65536 else 0
