"""The streaming interface of a runtime: logs, exec, attach, port-forward.

The endpoint knows HTTP and WebSocket and no processes; a runtime knows processes and no HTTP.

    StreamError
      ContainerNotFound      no such pod here, or no such container in it
        PreviousNotFound     it has not been restarted: there is no log from before
        NotStarted           it has not run yet, or does not run now
      Unsupported            this runtime has no such thing
      ConnectionRefused      no process listens on the pod's port
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

LogStream = Literal["All", "Stdout", "Stderr"]


class StreamError(Exception):
    """Its text is for the user."""


class ContainerNotFound(StreamError):
    pass


class PreviousNotFound(ContainerNotFound):
    pass


class NotStarted(ContainerNotFound):
    pass


class Unsupported(StreamError):
    pass


class PortRefused(StreamError):
    pass


@dataclass(frozen=True, slots=True)
class LogOptions:
    """None: no limit. ``since`` is unix time."""

    follow: bool = False
    previous: bool = False
    tail_lines: int | None = None
    since: float | None = None
    timestamps: bool = False
    limit_bytes: int | None = None
    stream: LogStream = "All"


class Execution(Protocol):
    """Both ends of a running command. ``stderr`` ends at once when there is a terminal."""

    @property
    def stdout(self) -> AsyncIterator[bytes]: ...
    @property
    def stderr(self) -> AsyncIterator[bytes]: ...

    async def write(self, data: bytes) -> None:
        """Returns once the command has room for more; what a command that ended gets is lost."""

    async def close_stdin(self) -> None: ...

    def resize(self, width: int, height: int) -> None:
        """The terminal's size in characters; nothing without one."""

    async def wait(self) -> int:
        """The exit code, once it has ended and its output has been read; of the container's process
        for an attachment."""

    async def close(self) -> None:
        """The client left: a command gets SIGHUP and is ended, an attachment is detached."""


class Streams(Protocol):
    def logs(self, pod_uid: str, container: str, options: LogOptions) -> AsyncIterator[bytes]:
        """Pieces of whole lines; errors come before the first. A followed log ends with its
        container."""

    async def execute(
        self, pod_uid: str, container: str, command: Sequence[str], *, stdin: bool, tty: bool
    ) -> Execution: ...

    async def attach(
        self, pod_uid: str, container: str, *, stdin: bool, tty: bool
    ) -> Execution: ...

    async def connect(
        self, pod_uid: str, port: int
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """To the pod's port; the caller closes the writer."""
