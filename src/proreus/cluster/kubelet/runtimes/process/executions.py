"""Commands run in a container, and attachments to its own process: both ends of a stream.

Implements ``streams.Execution``.
"""

from __future__ import annotations

import contextlib
import signal
from collections.abc import AsyncIterator

from proreus.aio.clock import Clock, deadline
from proreus.aio.mailbox import MailboxClosed
from proreus.cluster.kubelet.runtimes.process.container_run import ContainerRun, OutputBuffer
from proreus.cluster.kubelet.runtimes.process.processes import Process

_HANG_UP_S = 2.0


class CommandExecution:
    """A command of its own. Output that is not read holds the command up, nothing else."""

    def __init__(self, process: Process, clock: Clock) -> None:
        self._process = process
        self._clock = clock

    @property
    def stdout(self) -> AsyncIterator[bytes]:
        return self._process.ends.stdout

    @property
    def stderr(self) -> AsyncIterator[bytes]:
        return self._process.ends.stderr or _nothing()

    async def write(self, data: bytes) -> None:
        if self._process.ends.stdin is not None:
            await self._process.ends.stdin.write(data)

    async def close_stdin(self) -> None:
        stdin, terminal = self._process.ends.stdin, self._process.ends.terminal
        if stdin is None:
            return
        if terminal is not None:
            await stdin.write(b"\x04")  # a terminal has no end of file but the one that is typed
        else:
            stdin.close()

    def resize(self, width: int, height: int) -> None:
        self._process.resize(width, height)

    async def wait(self) -> int:
        return await self._process.wait()

    async def close(self) -> None:
        """Idempotent."""
        self._process.signal(signal.SIGHUP, to_group=True)
        with contextlib.suppress(TimeoutError):
            async with deadline(self._clock, _HANG_UP_S):
                await self._process.wait()
        self._process.kill()
        await self._process.wait()
        self._process.ends.close()


class Attachment:
    """To a container's own process: what it writes from now on."""

    def __init__(self, run: ContainerRun, process: Process, *, stdin: bool) -> None:
        self._life = run
        self._process = process
        self._stdin = process.ends.stdin if stdin else None
        self._output = run.subscribe()

    @property
    def stdout(self) -> AsyncIterator[bytes]:
        return _pieces(self._output.stdout)

    @property
    def stderr(self) -> AsyncIterator[bytes]:
        return _pieces(self._output.stderr)

    async def write(self, data: bytes) -> None:
        if self._stdin is not None:
            await self._stdin.write(data)

    async def close_stdin(self) -> None:
        """Only if the container said that one client's input is all it wants."""
        if self._stdin is not None and self._life.machine.spec.content.get("stdinOnce"):
            self._stdin.close()

    def resize(self, width: int, height: int) -> None:
        self._process.resize(width, height)

    async def wait(self) -> int:
        return await self._process.wait()

    async def close(self) -> None:
        await self.close_stdin()
        self._life.unsubscribe(self._output)


async def _pieces(output: OutputBuffer) -> AsyncIterator[bytes]:
    while True:
        try:
            yield await output.get()
        except MailboxClosed:
            return


def _nothing() -> AsyncIterator[bytes]:
    output = OutputBuffer()
    output.close()
    return _pieces(output)
