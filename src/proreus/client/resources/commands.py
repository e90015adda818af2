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
from typing import TYPE_CHECKING, Any

from proreus.api.status import ApiError
from proreus.client.rest.request import InvalidRequest, RestRequest, query, require_name
from proreus.net.client.transport_error import TransportError

if TYPE_CHECKING:
    from proreus.client.resources.running_command import CommandResult, RunningCommand
    from proreus.client.resources.scope import ResourceScope


class Commands:
    """Mixed into ``ResourceClient``; for pods."""

    _scope: ResourceScope[Any]

    async def execute(
        self, name: str, command: Sequence[str], *, container: str = "", stdin: bytes | None = None
    ) -> CommandResult:
        """Run a command to its end, giving it ``stdin``. Any exit code is a result.

        Raises ``ApiError`` if it could not be run. Output is kept in memory; see ``command``.
        """
        from proreus.client.resources.running_command import CommandResult, feed

        async with self.command(
            name, command, container=container, stdin=stdin is not None
        ) as running:
            if stdin is not None:
                running.check_can_close()
            said: tuple[list[bytes], list[bytes]] = ([], [])
            broken: ApiError | TransportError | None = None
            async with asyncio.TaskGroup() as both:
                feeding = both.create_task(feed(running, stdin))
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
        from proreus.client.resources.running_command import PROTOCOLS, RunningCommand

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
        names = [protocol.name for protocol in PROTOCOLS]
        async with self._scope.rest.open_websocket(request, names) as socket:
            yield RunningCommand(socket)
