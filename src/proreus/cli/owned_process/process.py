"""A process from its start to its end, as its owner sees it."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
import sys
from collections.abc import AsyncIterator, Mapping, Sequence

from proreus.aio.tasks import background
from proreus.cli.owned_process.log_relay import LINE_MAX, relay
from proreus.cli.owned_process.order import encoded_order
from proreus.cli.verbosity import is_verbose


class OwnedProcess:
    """``line`` has what it says to its owner beside its log."""

    def __init__(self, process: asyncio.subprocess.Process, line: asyncio.StreamReader) -> None:
        self._process = process
        self.pid = process.pid
        self.line = line

    async def wait_ended(self) -> str:
        """How it ended, in words."""
        code = await self._process.wait()
        if code < 0:
            return f"killed by {signal.Signals(-code).name}"
        return f"exit code {code}"

    def ask_to_end(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self._process.terminate()

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()


@contextlib.asynccontextmanager
async def owned_process(
    module: str, arguments: Sequence[str], order: object, known_as: Mapping[str, object]
) -> AsyncIterator[OwnedProcess]:
    """``python -m module``, which was sent its order; killed if it still runs at the end. Its log
    lines have the fields ``known_as``."""
    own, given = socket.socketpair()
    with own, given:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", module, *arguments),
            *(["-v"] if is_verbose() else []),
            stdin=given.fileno(),
            stderr=asyncio.subprocess.PIPE,
            limit=LINE_MAX,
        )
        given.close()
        assert process.stderr is not None
        reader, writer = await asyncio.open_connection(sock=own)
        try:
            async with background() as group:
                group.create_task(relay(process.stderr, known_as), name=f"log of {module}")
                writer.write(encoded_order(order))
                try:
                    yield OwnedProcess(process, reader)
                finally:
                    with contextlib.suppress(ProcessLookupError):
                        process.kill()
                    await process.wait()
        finally:
            writer.close()
