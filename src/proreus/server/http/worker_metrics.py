"""The metrics of a server of several workers: one page, each series with its worker.

Whoever asks reaches one worker by chance, and counters that go up and down by chance are worth
nothing. So the worker that is asked asks the others, over sockets in a folder that only the
server's user can enter, and puts their pages together. One that does not answer is missing, and
``proreus_worker_up`` says so.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path

from proreus.aio.clock import Clock, deadline
from proreus.server.http.metrics_text import metrics_text
from proreus.server.http.rendering import Rendering
from proreus.server.offload import Runner
from proreus.server.prometheus import CollectorRegistry
from proreus.server.worker import Worker

_ANSWER_S = 2.0
_PAGE_BYTES_MAX = 64 * 1024 * 1024
_PIECE_BYTES = 256 * 1024
_UP = b"proreus_worker_up"


class WorkerMetrics:
    """``own`` is this one; pages are put together in ``lane``."""

    def __init__(
        self,
        own: Worker,
        registry: CollectorRegistry,
        rendering: Rendering,
        lane: Runner,
        clock: Clock,
    ) -> None:
        self._own = own
        self._lane = lane
        self._registry = registry
        self._rendering = rendering
        self._clock = clock

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """The others can ask this one."""
        path = _socket(self._own, self._own.number)
        path.unlink(missing_ok=True)  # of the one before, which died
        async with await asyncio.start_unix_server(self._answer, path):
            yield

    async def text(self) -> bytes:
        numbers = range(1, self._own.count + 1)
        found = await asyncio.gather(*(self._page(number) for number in numbers))
        pages = dict(zip(numbers, found, strict=True))
        return await self._lane.run(lambda: b"".join(merged(pages)))

    async def _page(self, number: int) -> bytes | None:
        if number == self._own.number:
            return await self._own_page()
        try:
            async with deadline(self._clock, _ANSWER_S):
                return await _read(_socket(self._own, number))
        except (OSError, TimeoutError):
            return None

    async def _own_page(self) -> bytes:
        return await self._rendering.joined(lambda _: metrics_text(self._registry))

    async def _answer(self, _: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with deadline(self._clock, _ANSWER_S):
                writer.write(await self._own_page())
                await writer.drain()
        except (OSError, TimeoutError):
            writer.transport.abort()  # what is unsent would hold up the end of this process
        finally:
            writer.close()


def _socket(worker: Worker, number: int) -> Path:
    return worker.folder / f"{number}.sock"


async def _read(path: Path) -> bytes:
    """Raises OSError."""
    reader, writer = await asyncio.open_unix_connection(path)
    try:
        pieces, size = [], 0
        while piece := await reader.read(_PIECE_BYTES):
            pieces.append(piece)
            size += len(piece)
            if size > _PAGE_BYTES_MAX:
                raise OSError("a page without end")
        return b"".join(pieces)
    finally:
        writer.close()


def merged(pages: Mapping[int, bytes | None]) -> Iterator[bytes]:
    """Families by name, as on each page; None: that worker has none."""
    heads: dict[bytes, bytes] = {}
    series: dict[bytes, list[bytes]] = {}
    for number, page in pages.items():
        label = b'worker="%d"' % number
        name = b""
        for line in (page or b"").splitlines(keepends=True):
            if line.startswith(b"# "):
                _, _, name, _ = line.split(b" ", 3)
                known = heads.setdefault(name, b"")
                if line not in known:
                    heads[name] = known + line
            else:
                series.setdefault(name, []).append(_labelled(line, label))
    heads[_UP] = b"# HELP %b Whether this worker answered.\n# TYPE %b gauge\n" % (_UP, _UP)
    series[_UP] = [
        b'%b{worker="%d"} %d\n' % (_UP, number, page is not None) for number, page in pages.items()
    ]
    for name in sorted(heads):
        yield heads[name] + b"".join(series.get(name, ()))


def _labelled(line: bytes, label: bytes) -> bytes:
    name, brace, rest = line.partition(b"{")
    if brace and b" " not in name:
        return b"%b{%b,%b" % (name, label, rest)
    name, _, value = line.partition(b" ")
    return b"%b{%b} %b" % (name, label, value)
