"""A container's log on disk: written once, in segments, the oldest of which are dropped.

    logs/<restart>/<segment>.log

Segments are numbered and never renamed, so a reader that follows finds the next one by counting.
At most ``SEGMENTS`` of ``SEGMENT_BYTES`` are kept, and only of this start and the one before.
"""

from __future__ import annotations

import errno
import logging
import os
from collections.abc import Callable
from io import FileIO
from pathlib import Path
from typing import BinaryIO

from proreus.aio.gate import Waterline
from proreus.cluster.kubelet.runtimes.process.log_format import Channel, LogLineSplitter
from proreus.cluster.untrusted_files import (
    forget_record,
    open_regular,
    remove_tree,
)

log = logging.getLogger(__name__)

SEGMENT_BYTES = 10 * 1024 * 1024
SEGMENTS = 5
_SEGMENT_MAX_BYTES = 2 * SEGMENT_BYTES  # the last write may go beyond its end
_STARTS = 2
_DIGITS = 19


class LogWriter:
    """Takes a container's output; ``wait_more`` wakes those who read along."""

    def __init__(
        self, folder: Path, now: Callable[[], float], *, segment_bytes: int = SEGMENT_BYTES
    ) -> None:
        """``folder`` exists (``prepare_log_folder``)."""
        self._folder = folder
        self._now = now
        self._segment_bytes = segment_bytes
        self._segment = 0
        self._size = 0
        self._file: FileIO | None = None
        self._is_closed = False
        self._splitters = {channel: LogLineSplitter(channel) for channel in _CHANNELS}
        self._level = Waterline()
        self._lost = 0

    @property
    def level(self) -> int:
        """Rises with every write."""
        return self._level.level

    @property
    def is_closed(self) -> bool:
        return self._is_closed

    async def wait_more(self, level: int) -> None:
        """Until the level is above ``level``, or the log is closed."""
        if not self.is_closed:
            await self._level.wait_for(level + 1)

    def write(self, channel: Channel, output: bytes) -> None:
        self._append(self._splitters[channel].feed(output, self._now()))

    def close(self) -> None:
        """Idempotent."""
        if self.is_closed:
            return
        for splitter in self._splitters.values():
            self._append(splitter.end(self._now()))
        self._close_segment()
        self._is_closed = True
        self._level.rise_to(self._level.level + 1)

    def _append(self, lines: bytes) -> None:
        if not lines or self.is_closed:
            return
        try:
            self._open_segment().write(lines)
        except OSError as problem:
            # A full disk, or a container that spoils its own log, costs lines, not the container.
            self._lost += 1
            if self._lost == 1:
                log.warning("log lines are lost: folder=%s failure=%r", self._folder, problem)
            return
        self._size += len(lines)
        if self._size >= self._segment_bytes:
            self._turn_over()
        self._level.rise_to(self._level.level + 1)

    def _turn_over(self) -> None:
        self._close_segment()
        self._segment += 1
        self._size = 0

    def _open_segment(self) -> FileIO:
        """Raises ``OSError``."""
        if self._file is None:
            path = self._folder / f"{self._segment}.log"
            forget_record(path)  # none of ours: a segment is begun once
            self._file = FileIO(open_regular(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb")
            forget_record(self._folder / f"{self._segment - SEGMENTS}.log")
        return self._file

    def _close_segment(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


_CHANNELS: tuple[Channel, ...] = ("stdout", "stderr")


def prepare_log_folder(logs: Path, restart: int) -> None:
    """An empty folder for the log of the start number ``restart``; what is older than the one
    before is dropped. Not on the loop: who knows what lies there."""
    folder = logs / str(restart)
    remove_tree(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for number in starts(logs)[:-_STARTS]:
        remove_tree(logs / str(number))


def starts(logs: Path) -> list[int]:
    """The starts of which there is a log, the oldest first."""
    return _numbers(logs, "")


def open_segment(folder: Path, number: int) -> BinaryIO:
    """For reading. Raises ``OSError`` for what no writer of ours can have written."""
    path = folder / f"{number}.log"
    file = os.fdopen(open_regular(path, os.O_RDONLY), "rb")
    if os.fstat(file.fileno()).st_size > _SEGMENT_MAX_BYTES:
        file.close()
        raise OSError(errno.EFBIG, "too long for a log", str(path))
    return file


def segments(folder: Path) -> list[int]:
    return _numbers(folder, ".log")


def _numbers(folder: Path, suffix: str) -> list[int]:
    try:
        names = [entry.name.removesuffix(suffix) for entry in folder.iterdir()]
    except OSError:
        return []
    return sorted(int(name) for name in names if name.isdecimal() and len(name) < _DIGITS)
