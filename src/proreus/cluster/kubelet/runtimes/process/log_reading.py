"""Reading a container's log: the end of it, from some time on, along as it grows.

Bounded: a piece at a time is in memory, whatever the log's size.
"""

from __future__ import annotations

import asyncio
import contextlib
import mmap
import os
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from proreus.cluster.kubelet.runtimes.process.log_files import LogWriter, open_segment, segments
from proreus.cluster.kubelet.runtimes.process.log_format import LogRendering, parse_entry
from proreus.cluster.kubelet.runtimes.streams import LogOptions

_PIECE_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class _Position:
    segment: int
    offset: int


async def read_log(
    folder: Path, options: LogOptions, writer: LogWriter | None
) -> AsyncIterator[bytes]:
    """The log in ``folder``; followed while ``writer``, which writes it, is open."""
    rendering = LogRendering(
        stream=options.stream, since=options.since, timestamps=options.timestamps
    )
    left = options.limit_bytes
    # Looking for the last lines of one stream may take a look at all lines.
    start = await asyncio.to_thread(_start, folder, options, rendering)
    pieces = _lines(folder, start, writer if options.follow else None)
    async for lines in pieces:
        text = rendering.text(lines)
        if left is not None:
            text = text[:left]
            left -= len(text)
        if text:
            yield text
        if left == 0:
            return


def tail_text(folder: Path, *, lines: int, limit_bytes: int) -> str:
    """The end of a finished log, for a message."""
    rendering = LogRendering()
    start = _start(folder, LogOptions(tail_lines=lines), rendering)
    text = b""
    for number in segments(folder):
        if number >= start.segment:
            with contextlib.suppress(OSError), open_segment(folder, number) as file:
                file.seek(start.offset if number == start.segment else 0)
                text += rendering.text(file.read().split(b"\n"))
    return text[-limit_bytes:].decode("utf-8", "replace")


def _start(folder: Path, options: LogOptions, rendering: LogRendering) -> _Position:
    found = segments(folder)
    first = _Position(found[0] if found else 0, 0)
    if options.tail_lines is None:
        return first
    wanted, count = options.tail_lines, 0
    is_last = True
    for number in reversed(found):
        with _mapped(folder, number) as text:
            end = text.rfind(b"\n") + 1
            while end > 0:
                begin = text.rfind(b"\n", 0, end - 1) + 1
                entry = parse_entry(text[begin : end - 1])
                if entry is not None and rendering.includes(entry):
                    if (entry.is_whole or is_last) and count == wanted:
                        return _Position(number, end)
                    count += entry.is_whole or is_last
                    is_last = False
                end = begin
    return first


@contextlib.contextmanager
def _mapped(folder: Path, number: int) -> Iterator[mmap.mmap | bytes]:
    """A segment's bytes; none of one that is empty or not ours."""
    try:
        file = open_segment(folder, number)
    except OSError:
        yield b""
        return
    with file:
        if not os.fstat(file.fileno()).st_size:
            yield b""
            return
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
            yield text


async def _lines(
    folder: Path, start: _Position, writer: LogWriter | None
) -> AsyncIterator[list[bytes]]:
    """Whole lines of the file, segment by segment, piece by piece."""
    number, offset, rest = start.segment, start.offset, b""
    while True:
        # Read before the files are, so that nothing falls between looking and waiting.
        level, is_growing = (writer.level, not writer.is_closed) if writer else (0, False)
        try:
            with open_segment(folder, number) as file:
                file.seek(offset)
                async for piece in _pieces(file):
                    offset += len(piece)
                    *lines, rest = (rest + piece).split(b"\n")
                    yield lines
        except OSError:
            offset = 0
        later = [found for found in segments(folder) if found > number]
        if later:
            number, offset, rest = later[0], 0, b""
        elif writer is not None and is_growing:
            await writer.wait_more(level)
        else:
            return


async def _pieces(file: BinaryIO) -> AsyncIterator[bytes]:
    while piece := file.read(_PIECE_BYTES):
        yield piece
        await asyncio.sleep(0)  # a long log lets others have their turn
