"""Events as lines of a log: gathered for a moment, then written in a thread.

So events of a busy server share a write, and a request pays no thread's wake-up.
A slow disk holds up no request. What a server that is killed has not written is lost; one that is
stopped writes everything first.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial

from proreus.server.audit.gathering import Gathering
from proreus.server.audit.log_file import LogFile, Loss, StandardOutput
from proreus.server.offload import Runner

NAME = "log"


class LogBackend:
    def __init__(
        self,
        gathering: Gathering,
        file: LogFile | StandardOutput,
        lane: Runner,
        line_of: Callable[[bytes], bytes] | None = None,
    ) -> None:
        """``line_of`` makes a line of an event; None: it is one."""
        self.gathering = gathering
        self.backlog = gathering.backlog
        self._file = file
        self._lane = lane
        self._line_of = line_of

    async def run(self) -> None:
        while True:
            await self.gathering.wait_batch()
            await self._write()

    async def close(self) -> None:
        """Write what is left, once ``run`` has ended."""
        while len(self.backlog):
            await self._write()
        self._file.close()

    async def _write(self) -> None:
        events = self.gathering.take()
        if not events:
            return
        writing = asyncio.ensure_future(self._lane.run(partial(self._append, events)))
        try:
            await asyncio.shield(writing)
        finally:
            # The file has one writer: the next must not begin before this one has ended.
            await asyncio.wait([writing])
            if (loss := writing.result()) is None:
                self.backlog.delivered()
            else:
                self.backlog.lose(loss.count, loss.why)

    def _append(self, events: list[bytes]) -> Loss | None:
        """In a thread."""
        lines = events if self._line_of is None else [self._line_of(event) for event in events]
        return self._file.write(lines)

    def __repr__(self) -> str:
        return f"<LogBackend {self.backlog!r}>"
