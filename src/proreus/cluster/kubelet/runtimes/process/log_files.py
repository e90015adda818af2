"""A container's log on disk: written once, in segments, the oldest of which are dropped.

    logs/<restart>/<segment>.log

Segments are numbered and never renamed, so a reader that follows finds the next one by counting.
At most ``SEGMENTS`` of ``SEGMENT_BYTES`` are kept, and only of this start and the one before.
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable
from pathlib import Path

from proreus.aio.gate import Waterline
from proreus.cluster.kubelet.runtimes.process.log_format import Channel, LineSplitter

log = logging.getLogger(__name__)

SEGMENT_BYTES = 10 * 1024 * 1024
SEGMENTS = 5
_STARTS = 2


class LogWriter:
    """Takes a container's output; ``wait_more`` wakes those who read along."""

    def __init__(self, folder: Path, now: Callable[[], float], *, segment_bytes: int) -> None:
        self._folder = folder
        self._now = now
        self._segment_bytes = segment_bytes
        self._segment = 0
        self._size = 0
        self._file = (folder / "0.log").open("ab", buffering=0)
        self._splitters = {channel: LineSplitter(channel) for channel in _CHANNELS}
        self._level = Waterline()
        self._lost = 0

    @property
    def level(self) -> int:
        """Rises with every write."""
        return self._level.level

    @property
    def is_closed(self) -> bool:
        return self._file.closed

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
        self._file.close()
        self._level.rise_to(self._level.level + 1)

    def _append(self, lines: bytes) -> None:
        if not lines or self.is_closed:
            return
        try:
            self._file.write(lines)
        except OSError as problem:
            # A full disk costs lines, not the container.
            self._lost += 1
            if self._lost == 1:
                log.warning("log lines are lost: folder=%s failure=%r", self._folder, problem)
            return
        self._size += len(lines)
        if self._size >= self._segment_bytes:
            self._turn_over()
        self._level.rise_to(self._level.level + 1)

    def _turn_over(self) -> None:
        self._file.close()
        self._segment += 1
        self._size = 0
        self._file = (self._folder / f"{self._segment}.log").open("ab", buffering=0)
        (self._folder / f"{self._segment - SEGMENTS}.log").unlink(missing_ok=True)


_CHANNELS: tuple[Channel, ...] = ("stdout", "stderr")


def open_log(
    logs: Path, restart: int, now: Callable[[], float], *, segment_bytes: int = SEGMENT_BYTES
) -> LogWriter:
    """For the start number ``restart``; what is older than the one before is dropped."""
    folder = logs / str(restart)
    if folder.exists():
        shutil.rmtree(folder)
    folder.mkdir(parents=True)
    for number in starts(logs)[:-_STARTS]:
        shutil.rmtree(logs / str(number), ignore_errors=True)
    return LogWriter(folder, now, segment_bytes=segment_bytes)


def starts(logs: Path) -> list[int]:
    """The starts of which there is a log, the oldest first."""
    return _numbers(logs, "")


def segments(folder: Path) -> list[int]:
    return _numbers(folder, ".log")


def _numbers(folder: Path, suffix: str) -> list[int]:
    try:
        names = [entry.name.removesuffix(suffix) for entry in folder.iterdir()]
    except FileNotFoundError:
        return []
    return sorted(int(name) for name in names if name.isdecimal())
