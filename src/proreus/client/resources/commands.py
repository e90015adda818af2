"""Inside a pod: run a command, attach to what runs, reach a port. Over WebSocket, on any cluster.

done = await client.core_v1.pods("default").execute("web", ["cat", "/etc/hosts"])
print(done.exit_code, done.stdout.decode())

async with client.core_v1.pods("default").port_forward("web", 8080) as local_port:
    ...  # connect to 127.0.0.1:local_port as often as you like
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from proreus.api.status import ApiError
from proreus.api.wire import channels, json
from proreus.api.wire.channels import ChannelClosed, ChannelError, ChannelMessage, ChannelProtocol
from proreus.client.resources.scope import ResourceScope
from proreus.client.rest.request import InvalidRequest, RestRequest, query, require_name
from proreus.net.client.transport_error import ConnectionLost, ProtocolError, TransportError

if TYPE_CHECKING:
    from proreus.net.client.websocket import ClientWebSocket

_PROTOCOLS = (channels.V5, channels.V4)
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


class Commands:
    """Mixed into ``ResourceClient``; for pods."""

    _scope: ResourceScope[Any]

    async def execute(
        self, name: str, command: Sequence[str], *, container: str = "", stdin: bytes | None = None
    ) -> CommandResult:
        """Run a command to its end, giving it ``stdin``. Any exit code is a result.

        Raises ``ApiError`` if it could not be run. Output is kept in memory; see ``command``.
        """
        async with self.command(
            name, command, container=container, stdin=stdin is not None
        ) as running:
            if stdin is not None:
                running.check_can_close()
            said: tuple[list[bytes], list[bytes]] = ([], [])
            broken: ApiError | TransportError | None = None
            async with asyncio.TaskGroup() as both:
                feeding = both.create_task(_feed(running, stdin))
                try:
                    async for output in running:
                        said[output.is_error].append(output.payload)
                except (ApiError, TransportError) as failure:
                    broken = failure  # a task group would wrap it
                feeding.cancel()
            if broken is not None:
                raise broken
            assert running.exit_code is not None, "its output has ended"
            return CommandResult(running.exit_code, b"".join(said[0]), b"".join(said[1]))

    @contextlib.asynccontextmanager
    async def command(
        self,
        name: str,
        command: Sequence[str],
        *,
        container: str = "",
        stdin: bool = False,
        tty: bool = False,
    ) -> AsyncIterator[RunningCommand]:
        """A command while it runs; leaving the body hangs it up."""
        if not command:
            raise InvalidRequest("the command is empty")
        words = tuple(("command", word) for word in command)
        async with self._stream(name, "exec", container, words, stdin=stdin, tty=tty) as running:
            yield running

    @contextlib.asynccontextmanager
    async def attach(
        self, name: str, *, container: str = "", stdin: bool = False, tty: bool = False
    ) -> AsyncIterator[RunningCommand]:
        """What a container's own process writes from now on; leaving the body lets it run on."""
        async with self._stream(name, "attach", container, (), stdin=stdin, tty=tty) as running:
            yield running

    @contextlib.asynccontextmanager
    async def port_forward(
        self, name: str, port: int, *, local_port: int = 0
    ) -> AsyncIterator[int]:
        """Listen on the loopback address while the body runs; yields the port there.

        Every connection to it is one to ``port`` of the pod. One that fails is closed, and logged.
        """
        from proreus.client.resources.forwarding import listening

        path = await self._scope.object_path(require_name(name), subresource="portforward")
        request = RestRequest("get", "GET", path, (("ports", str(port)),), accept="*/*")
        async with listening(self._scope.rest, request, local_port) as opened:
            yield opened

    @contextlib.asynccontextmanager
    async def _stream(
        self,
        name: str,
        verb: str,
        container: str,
        words: tuple[tuple[str, str], ...],
        *,
        stdin: bool,
        tty: bool,
    ) -> AsyncIterator[RunningCommand]:
        path = await self._scope.object_path(require_name(name), subresource=verb)
        asked = query(
            (
                ("container", container),
                ("stdin", stdin),
                ("stdout", True),
                ("stderr", not tty),
                ("tty", tty),
            )
        )
        request = RestRequest("get", "GET", path, (*asked, *words), accept="*/*")
        names = [protocol.name for protocol in _PROTOCOLS]
        async with self._scope.rest.open_websocket(request, names) as socket:
            yield RunningCommand(socket)


async def _feed(running: RunningCommand, stdin: bytes | None) -> None:
    if stdin is not None:
        # A command may end without reading all it is given.
        with contextlib.suppress(ConnectionLost):
            await running.write(stdin)
            await running.close_stdin()


def _protocol(socket: ClientWebSocket) -> ChannelProtocol:
    """What the server chose; one that says nothing means what was asked for last."""
    return next((one for one in _PROTOCOLS if one.name == socket.protocol), channels.V4)
