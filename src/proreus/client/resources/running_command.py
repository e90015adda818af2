"""A command in a container, spoken to over a WebSocket; ``commands`` opens it.

Loaded by who runs one: most programs do not.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from proreus.api.status import ApiError
from proreus.api.wire import channels, json
from proreus.api.wire.channels import ChannelClosed, ChannelError, ChannelMessage, ChannelProtocol
from proreus.client.rest.request import InvalidRequest
from proreus.net.client.transport_error import ConnectionLost, ProtocolError

if TYPE_CHECKING:
    from proreus.net.client.websocket import ClientWebSocket

PROTOCOLS = (channels.V5, channels.V4)
_PIECE_BYTES = 32 * 1024


@dataclass(frozen=True, slots=True)
class CommandResult:
    """A command that has ended."""

    exit_code: int
    stdout: bytes
    stderr: bytes


@dataclass(frozen=True, slots=True)
class Output:
    """A piece of what a command wrote."""

    payload: bytes
    is_error: bool = False


class RunningCommand:
    """A command in a container. Iterate over its output to the end; then ``exit_code`` is there.

    Nothing is read ahead: who does not iterate stops the command once its pipes are full.
    """

    def __init__(self, socket: ClientWebSocket) -> None:
        self._socket = socket
        self._protocol = _protocol(socket)
        self.exit_code: int | None = None

    def __aiter__(self) -> AsyncIterator[Output]:
        return self._output()

    async def write(self, data: bytes) -> None:
        """To its input; returns once there is room for more."""
        for start in range(0, len(data), _PIECE_BYTES):
            piece = data[start : start + _PIECE_BYTES]
            await self._socket.send(self._protocol.encode(channels.STDIN, piece))

    async def close_stdin(self) -> None:
        """Say that no more input comes. Raises InvalidRequest if the protocol cannot."""
        self.check_can_close()
        await self._socket.send(self._protocol.encode_close(channels.STDIN))

    def check_can_close(self) -> None:
        if not self._protocol.can_close:
            raise InvalidRequest(
                f"the server speaks {self._protocol.name}, which cannot close a command's input"
            )

    async def resize(self, width: int, height: int) -> None:
        """Tell its terminal a new size, in characters."""
        size = json.encode({"Width": width, "Height": height})
        await self._socket.send(self._protocol.encode(channels.RESIZE, size))

    async def _output(self) -> AsyncIterator[Output]:
        """Raises ApiError if the command could not be run, ConnectionLost if that is not known."""
        while (raw := await self._socket.receive()) is not None:
            match self._decoded(raw):
                case ChannelMessage(channels.STDOUT, payload) if payload:
                    yield Output(payload)
                case ChannelMessage(channels.STDERR, payload) if payload:
                    yield Output(payload, is_error=True)
                case ChannelMessage(channels.ERROR, payload) if payload:
                    self._end(payload)
                case _:
                    pass
        if self.exit_code is None:
            raise ConnectionLost(self._socket.url, "the stream ended before the command")

    def _decoded(self, raw: str | bytes) -> ChannelMessage | ChannelClosed:
        try:
            return self._protocol.decode(raw)
        except ChannelError as error:
            raise ProtocolError(self._socket.url, f"the server sent {error}") from error

    def _end(self, payload: bytes) -> None:
        try:
            status = json.decode(payload)
        except json.JSONDecodeError as error:
            raise ProtocolError(self._socket.url, "the command's status is no JSON") from error
        self.exit_code = channels.exit_code(status)
        if self.exit_code is None:
            raise ApiError.from_status(status)


async def feed(running: RunningCommand, stdin: bytes | None) -> None:
    if stdin is not None:
        # A command may end without reading all it is given.
        with contextlib.suppress(ConnectionLost):
            await running.write(stdin)
            await running.close_stdin()


def _protocol(socket: ClientWebSocket) -> ChannelProtocol:
    """What the server chose; one that says nothing means what was asked for last."""
    return next((one for one in PROTOCOLS if one.name == socket.protocol), channels.V4)
