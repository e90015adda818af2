"""One worker's process, from its start to its end, as its owner sees it."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
import sys
from collections.abc import AsyncIterator

from proreus.aio.tasks import background
from proreus.cli.verbosity import is_verbose
from proreus.cli.workers.log_relay import LINE_MAX, relay
from proreus.cli.workers.messages import Report, decoded_report, encoded_config
from proreus.server.config import ServerConfig


class WorkerProcess:
    def __init__(self, process: asyncio.subprocess.Process, line: asyncio.StreamReader) -> None:
        self._process = process
        self._line = line

    async def wait_started(self) -> Report:
        """Whether it answers requests; it may take as long as its store does."""
        try:
            return decoded_report(await self._line.readline())
        except ConnectionError:
            return decoded_report(b"")

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
async def started_worker(config: ServerConfig) -> AsyncIterator[WorkerProcess]:
    """A process that is at work, or soon will be; killed if it still runs at the end."""
    assert config.worker is not None
    number = config.worker.number
    own, given = socket.socketpair()
    with own, given:
        command = [sys.executable, "-m", "proreus.cli.workers.worker", str(number)]
        process = await asyncio.create_subprocess_exec(
            *command,
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
                group.create_task(relay(process.stderr, number), name=f"log of worker {number}")
                writer.write(encoded_config(config))
                try:
                    yield WorkerProcess(process, reader)
                finally:
                    with contextlib.suppress(ProcessLookupError):
                        process.kill()
                    await process.wait()
        finally:
            writer.close()
