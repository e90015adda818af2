"""A command's streams over one WebSocket: exec and attach, as the kubelet serves them.

    client ── stdin, resize, close ──▶ Execution ── stdout, stderr, at last a Status ──▶ client

Invariant: a command that was started either ends by itself and its exit code is said on the error
channel, or is closed when its client leaves, whichever comes first. A reader that does not read
stops the command's output, a command that does not read stops the client's input: nothing piles up.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass

from proreus.aio.clock import Clock
from proreus.api.status import InternalError
from proreus.api.wire import channels, json
from proreus.api.wire.channels import ChannelClosed, ChannelError, ChannelMessage, ChannelProtocol
from proreus.api.wire.query import Query, boolean
from proreus.cluster.kubelet.runtimes.streams import Execution, StreamError
from proreus.cluster.kubelet.server.refusal import RequestRefused
from proreus.net.websocket.keepalive import wait_silent
from proreus.net.websocket.stream import WebSocketStream

Start = Callable[[], Awaitable[Execution]]


@dataclass(frozen=True, slots=True)
class StreamRequest:
    """Which streams the client asked for. A terminal has one output only."""

    stdin: bool
    stdout: bool
    stderr: bool
    tty: bool
    command: tuple[str, ...] = ()


def stream_request(query: Query) -> StreamRequest:
    """Raises RequestRefused."""
    tty = boolean(query, "tty")
    stdin, stdout = boolean(query, "input"), boolean(query, "output")
    stderr = boolean(query, "error") and not tty
    if not (stdin or stdout or stderr):
        raise RequestRefused(400, "you must specify at least 1 of stdin, stdout, stderr")
    return StreamRequest(stdin, stdout, stderr, tty, tuple(query.get("command") or ()))


@dataclass(frozen=True, slots=True)
class CommandSession:
    """``run`` it once the handshake is answered. ``says_exit``: the command's end is its own,
    not the container's."""

    socket: WebSocketStream
    protocol: ChannelProtocol
    wanted: StreamRequest
    clock: Clock
    says_exit: bool

    async def run(self, start: Start) -> None:
        try:
            execution = await start()
        except StreamError as error:
            await self._end_failed(str(error))
            return
        self._announce_start()
        has_ended = False
        try:
            code = await self._wait_end(execution)
            has_ended = code is not None
        finally:
            if not has_ended:
                await execution.close()
        if code is not None:
            await self._end(code if self.says_exit else 0)

    async def _wait_end(self, execution: Execution) -> int | None:
        """The exit code; None if the client left before."""
        async with asyncio.TaskGroup() as tasks:
            left = tasks.create_task(self._listen(execution))
            ended = tasks.create_task(self._send_output(execution))
            silent = tasks.create_task(wait_silent(self.socket, self.clock))
            await asyncio.wait((left, ended, silent), return_when=asyncio.FIRST_COMPLETED)
            for task in (left, ended, silent):
                task.cancel()  # nothing to one that is done
        return None if ended.cancelled() else ended.result()

    async def _send_output(self, execution: Execution) -> int | None:
        """All output, then the code; None if the client takes no output any more."""
        wanted, code = self.wanted, None
        try:
            async with asyncio.TaskGroup() as outputs:
                outputs.create_task(
                    self._copy(execution.stdout, channels.STDOUT, is_wanted=wanted.stdout)
                )
                outputs.create_task(
                    self._copy(execution.stderr, channels.STDERR, is_wanted=wanted.stderr)
                )
                code = await execution.wait()
        except* ConnectionError:
            code = None
        return code

    async def _copy(self, pieces: AsyncIterator[bytes], channel: int, *, is_wanted: bool) -> None:
        """What was not asked for is read too: a full pipe would stop the command."""
        async for piece in pieces:
            if is_wanted:
                self._write(channel, piece)
                await self.socket.wait_written()

    async def _listen(self, execution: Execution) -> None:
        """Until the client leaves or breaks the protocol."""
        while (raw := await self.socket.receive()) is not None:
            try:
                message = self.protocol.decode(raw)
            except ChannelError:
                return
            match message:
                case ChannelClosed(channels.STDIN):
                    await execution.close_stdin()
                case ChannelMessage(channels.STDIN, payload) if payload and self.wanted.stdin:
                    await execution.write(payload)
                case ChannelMessage(channels.RESIZE, payload):
                    size = channels.terminal_size(payload)
                    if size is not None:
                        execution.resize(*size)
                case _:
                    pass  # channels that are not the client's to write on

    def _announce_start(self) -> None:
        """An empty message on the first channel that can carry one: the command has started."""
        if self.wanted.stdout:
            self._write(channels.STDOUT, b"")
        elif self.wanted.stderr:
            self._write(channels.STDERR, b"")
        else:
            self._write(channels.ERROR, b"")

    async def _end(self, code: int) -> None:
        if self.protocol.has_status:
            said = channels.exit_status(code, self.wanted.command)
            self._write(channels.ERROR, json.encode(said))
        elif code:
            self._write(channels.ERROR, f"command terminated with exit code {code}".encode())
        await self.socket.close()

    async def _end_failed(self, why: str) -> None:
        if self.protocol.has_status:
            self._write(channels.ERROR, json.encode(InternalError.of(why).status))
        else:
            self._write(channels.ERROR, why.encode())
        await self.socket.close()

    def _write(self, channel: int, payload: bytes) -> None:
        message = self.protocol.encode(channel, payload)
        self.socket.write_message(message, binary=not self.protocol.is_base64)


def command_of(wanted: StreamRequest) -> Sequence[str]:
    """Raises RequestRefused."""
    if not wanted.command:
        raise RequestRefused(400, "you must specify at least 1 command")
    return wanted.command
