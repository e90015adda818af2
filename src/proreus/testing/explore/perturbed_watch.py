"""The events of one watch on their way to a program under test, and what goes wrong with them.

Order is kept, and nothing is left out, unless the watch expires: then the program lists again.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

from proreus.aio.gate import Gate
from proreus.api.json_types import Json
from proreus.api.status import Expired
from proreus.api.wire import json
from proreus.api.wire.framing import ADDED, BOOKMARK, DELETED, MODIFIED, LineSplitter
from proreus.net.client.http_client import Headers
from proreus.net.client.transport import AnswerStream
from proreus.testing.explore.faults import Delay, Hide, Repeat
from proreus.testing.explore.points import AskedFor, EventPoint
from proreus.testing.explore.seam import Incarnation, Seam
from proreus.testing.explore.trace import Listed, Saw

_END = "k8s.io/initial-events-end"
_OBJECT_EVENTS = (ADDED, MODIFIED, DELETED)


@dataclass(frozen=True, slots=True)
class _Line:
    """One line of the stream; ``event`` None: a bookmark, or part of the beginning."""

    data: bytes
    event: EventPoint | None
    resource_version: str


class PerturbedWatch:
    """Implements ``transport.AnswerStream``."""

    def __init__(
        self, inner: AnswerStream, what: AskedFor, seam: Seam, incarnation: Incarnation
    ) -> None:
        self._inner = inner
        self._what = what
        self._seam = seam
        self._incarnation = incarnation
        self._number = seam.streams
        self._splitter = LineSplitter()
        self._lines: deque[_Line] = deque()
        self._reading: asyncio.Task[bytes] | None = None  # while it goes on beside a release
        self._is_initial = what.streams_list
        self._is_over = False

    @property
    def status(self) -> int:
        return self._inner.status

    @property
    def headers(self) -> Headers:
        return self._inner.headers

    async def read(self, limit: int = 1 << 20) -> bytes:
        return await self._inner.read(limit)

    async def chunks(self) -> AsyncIterator[bytes]:
        while chunk := await self.next_chunk():
            yield chunk

    async def next_chunk(self) -> bytes:
        while True:
            await self._incarnation.wait_running()
            if self._is_over:
                return b""
            if self._lines:
                return await self._next_line()
            if not await self._receive(None):
                self._is_over = True

    async def _next_line(self) -> bytes:
        line = self._lines.popleft()
        fault = self._seam.at_event(line.event) if line.event is not None else None
        match fault:
            case None:
                pass
            case Delay():
                await self._seam.clock.sleep(self._seam.lag_s)
                await self._incarnation.wait_running()
            case Repeat():
                self._hand_over(line)
                return line.data + self._expired()
            case Hide():
                if await self._replaced(fault):
                    return self._expired()
        self._hand_over(line)
        return line.data

    async def _replaced(self, fault: Hide) -> bool:
        """Until the newer event has come; False if it will not, for all that is known."""
        released = Gate()
        self._seam.holding[fault] = released.open
        while not any(line.event == fault.newer for line in self._lines):
            if released.is_open or not await self._receive(released):
                return False
            await self._incarnation.wait_running()
        self._seam.holding.pop(fault, None)
        return True

    async def _receive(self, released: Gate | None) -> bool:
        """Wait for bytes, or for the release; whether the stream goes on."""
        if released is None and self._reading is None:
            chunk = await self._inner.next_chunk()
        else:
            reading = self._reading = self._reading or asyncio.get_running_loop().create_task(
                self._read_chunk()
            )
            if released is None:
                await asyncio.wait([reading])
            else:
                let_go = asyncio.get_running_loop().create_task(released.wait_open())
                try:
                    await asyncio.wait((reading, let_go), return_when=asyncio.FIRST_COMPLETED)
                finally:
                    let_go.cancel()
            if not reading.done():
                return True
            chunk, self._reading = reading.result(), None
        for data in self._splitter.feed(chunk):
            self._lines.append(self._line(data + b"\n"))
        return bool(chunk)

    async def _read_chunk(self) -> bytes:
        return await self._inner.next_chunk()

    def close(self) -> None:
        if self._reading is not None:
            self._reading.cancel()

    def _line(self, data: bytes) -> _Line:
        try:
            value: Any = json.decode(data)
            kind, metadata = str(value["type"]), value["object"]["metadata"]
        except (json.JSONDecodeError, KeyError, TypeError):
            return _Line(data, None, "")  # another form than JSON, or no object
        version = str(metadata.get("resourceVersion") or "")
        if kind == BOOKMARK and self._ends_beginning(metadata):
            self._is_initial = False
            seam = self._seam
            at_s = seam.clock.monotonic()
            seam.trace.add(Listed(at_s, seam.who, self._what.resource))
        if kind not in _OBJECT_EVENTS or self._is_initial:
            return _Line(data, None, version)
        event = self._seam.counted.event(kind, self._what.resource, metadata)
        return _Line(data, event, version)

    def _ends_beginning(self, metadata: Json) -> bool:
        return (metadata.get("annotations") or {}).get(_END) == "true"

    def _hand_over(self, line: _Line) -> None:
        if line.event is not None:
            seam = self._seam
            at_s = seam.clock.monotonic()
            seam.trace.add(Saw(at_s, seam.who, line.event, line.resource_version, self._number))

    def _expired(self) -> bytes:
        self._is_over = True
        error = Expired("too old resource version")
        return json.encode({"type": "ERROR", "object": error.status}) + b"\n"
