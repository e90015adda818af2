"""A runtime for streams alone: commands are real processes, a container is a log and a name.

Small enough to be seen through, so that what fails is the way to it and not the runtime.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import pty
import signal
import struct
import termios
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from dataclasses import dataclass, field

from proreus.cluster.kubelet.runtimes import streams

Uid = str


@dataclass(slots=True)
class Log:
    """Lines with the time and the stream they were written on; ``end`` it to let followers go."""

    lines: list[tuple[float, str, bytes]] = field(default_factory=list)
    is_over: bool = False
    followers: int = 0
    taken: int = 0  # bytes handed out so far
    unfollowed: asyncio.Event = field(default_factory=asyncio.Event)
    _news: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def write(self, *lines: str, at: float = 0.0, stream: str = "Stdout") -> None:
        async with self._news:
            self.lines += [(at, stream, line.encode() + b"\n") for line in lines]
            self._news.notify_all()

    async def end(self) -> None:
        async with self._news:
            self.is_over = True
            self._news.notify_all()

    async def read(self, options: streams.LogOptions) -> AsyncGenerator[bytes, None]:
        self.followers += options.follow
        try:
            async for piece in self._pieces(options):
                self.taken += len(piece)
                yield piece
        finally:
            self.followers -= options.follow
            self.unfollowed.set()

    async def _pieces(self, options: streams.LogOptions) -> AsyncIterator[bytes]:
        seen = 0
        if options.tail_lines is not None:
            seen = max(0, len(self.lines) - options.tail_lines)
        left = options.limit_bytes
        while True:
            while seen < len(self.lines):
                at, stream, line = self.lines[seen]
                seen += 1
                if options.since is not None and at < options.since:
                    continue
                if options.stream not in ("All", stream):
                    continue
                if options.timestamps:
                    line = f"{at:.1f} ".encode() + line
                if left is not None:
                    line, left = line[:left], left - len(line[:left])
                yield line
            if not options.follow or self.is_over or left == 0:
                return
            async with self._news:
                if seen == len(self.lines) and not self.is_over:
                    await self._news.wait()


class LocalProcess:
    """An Execution."""

    def __init__(self, process: asyncio.subprocess.Process, terminal: int | None) -> None:
        self.process = process
        self.terminal = terminal
        self.is_closed = False

    @property
    def stdout(self) -> AsyncIterator[bytes]:
        return self._terminal_output() if self.terminal is not None else _read(self.process.stdout)

    @property
    def stderr(self) -> AsyncIterator[bytes]:
        return _read(self.process.stderr)

    async def write(self, data: bytes) -> None:
        if self.terminal is not None:
            os.write(self.terminal, data)
        elif self.process.stdin is not None:
            with contextlib.suppress(ConnectionError):
                self.process.stdin.write(data)
                await self.process.stdin.drain()

    async def close_stdin(self) -> None:
        if self.process.stdin is not None:
            self.process.stdin.close()

    def resize(self, width: int, height: int) -> None:
        if self.terminal is not None:
            fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))

    async def wait(self) -> int:
        code = await self.process.wait()
        return code if code >= 0 else 128 - code

    async def close(self) -> None:
        self.is_closed = True
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        await self.process.wait()

    async def _terminal_output(self) -> AsyncIterator[bytes]:
        assert self.terminal is not None
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader()
        pipe, _ = await loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader),
            os.fdopen(os.dup(self.terminal), "rb", buffering=0),
        )
        try:
            with contextlib.suppress(OSError):  # how a terminal's end looks on Linux
                while piece := await reader.read(65536):
                    yield piece
        finally:
            pipe.close()


class LocalStreams:
    """Streams of every pod there is; ``logs_of`` by uid and container."""

    def __init__(self) -> None:
        self.logs_of: dict[tuple[Uid, str], Log] = {}
        self.previous: dict[tuple[Uid, str], Log] = {}
        self.processes: list[LocalProcess] = []
        self.attached: LocalProcess | None = None

    def log(self, uid: Uid, container: str = "main") -> Log:
        return self.logs_of.setdefault((uid, container), Log())

    def logs(
        self, pod_uid: str, container: str, options: streams.LogOptions
    ) -> AsyncIterator[bytes]:
        return self._logs((pod_uid, container), options)

    async def _logs(
        self, key: tuple[Uid, str], options: streams.LogOptions
    ) -> AsyncIterator[bytes]:
        found = (self.previous if options.previous else self.logs_of).get(key)
        if found is None:
            raise (
                streams.PreviousNotFound("none")
                if options.previous
                else streams.NotStarted("not yet")
            )
        async with contextlib.aclosing(found.read(options)) as pieces:
            async for piece in pieces:
                yield piece

    async def execute(
        self, pod_uid: str, container: str, command: Sequence[str], *, stdin: bool, tty: bool
    ) -> streams.Execution:
        if (pod_uid, container) not in self.logs_of:
            raise streams.ContainerNotFound("no such container")
        pipe = asyncio.subprocess.PIPE
        if tty:
            ours, theirs = pty.openpty()
            process = await asyncio.create_subprocess_exec(
                *command, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
            )
            os.close(theirs)
            started = LocalProcess(process, ours)
        else:
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=pipe if stdin else asyncio.subprocess.DEVNULL,
                stdout=pipe,
                stderr=pipe,
                start_new_session=True,
            )
            started = LocalProcess(process, None)
        self.processes.append(started)
        return started

    async def attach(
        self, pod_uid: str, container: str, *, stdin: bool, tty: bool
    ) -> streams.Execution:
        if self.attached is None:
            raise streams.ContainerNotFound("no such container")
        return self.attached

    async def connect(
        self, pod_uid: str, port: int
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        try:
            return await asyncio.open_connection("127.0.0.1", port)
        except OSError as error:
            raise streams.PortRefused(f"connection refused: {error.strerror}") from error


async def _read(source: asyncio.StreamReader | None) -> AsyncIterator[bytes]:
    if source is not None:
        while piece := await source.read(32768):
            yield piece
