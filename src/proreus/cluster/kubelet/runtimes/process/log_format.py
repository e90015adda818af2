"""The lines of a container's log file, as container runtimes write them (CRI). Pure.

    2026-01-02T03:04:05.123456789Z stdout F a whole line
    2026-01-02T03:04:05.123456789Z stderr P a piece of a line that has not ended

Times have a fixed width, so they are compared as text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from proreus.api.values.timestamp import format_time
from proreus.cluster.kubelet.runtimes.streams import LogStream

Channel = Literal["stdout", "stderr"]
PIECE_MAX_BYTES = 16 * 1024
_STREAMS: dict[bytes, LogStream] = {b"stdout": "Stdout", b"stderr": "Stderr"}


@dataclass(frozen=True, slots=True)
class LogLine:
    """``is_whole`` false: the line goes on in the next entry of its stream."""

    at: bytes
    stream: LogStream
    is_whole: bool
    content: bytes


class LogLineSplitter:
    """Bytes of one stream, in any pieces, to entries; a line longer than a piece is cut.

    Cost: one replace over the bytes, as long as no line is that long.
    """

    def __init__(self, channel: Channel) -> None:
        self._head = channel.encode()
        self._rest = b""

    def feed(self, output: bytes, now: float) -> bytes:
        """The lines for the file."""
        lines, newline, self._rest = (self._rest + output).rpartition(b"\n")
        head = format_log_time(now) + b" " + self._head
        made = b""
        if newline:
            short = not _has_long_line(lines)
            start = head + b" F "
            made = (
                start + lines.replace(b"\n", b"\n" + start) + b"\n"
                if short
                else b"".join(piece for line in lines.split(b"\n") for piece in _cut(head, line))
            )
        while len(self._rest) > PIECE_MAX_BYTES:
            piece, self._rest = self._rest[:PIECE_MAX_BYTES], self._rest[PIECE_MAX_BYTES:]
            made += head + b" P " + piece + b"\n"
        return made

    def end(self, now: float) -> bytes:
        """What is left at the end of the stream: a line without its newline."""
        rest, self._rest = self._rest, b""
        if not rest:
            return b""
        return format_log_time(now) + b" " + self._head + b" P " + rest + b"\n"


def _has_long_line(lines: bytes) -> bool:
    """Looks at a few newlines, not at all of them."""
    start = 0
    while len(lines) - start > PIECE_MAX_BYTES:
        start = lines.rfind(b"\n", start, start + PIECE_MAX_BYTES + 1) + 1
        if start == 0:
            return True
    return False


def _cut(head: bytes, whole: bytes) -> Iterator[bytes]:
    while len(whole) > PIECE_MAX_BYTES:
        yield head + b" P " + whole[:PIECE_MAX_BYTES] + b"\n"
        whole = whole[PIECE_MAX_BYTES:]
    yield head + b" F " + whole + b"\n"


def format_log_time(unix_s: float) -> bytes:
    seconds, nanoseconds = divmod(round(unix_s * 1e6) * 1000, 1_000_000_000)
    return f"{format_time(seconds)[:-1]}.{nanoseconds:09d}Z".encode()


def parse_entry(line: bytes) -> LogLine | None:
    """A line of the file without its newline; None if it is none of ours."""
    parts = line.split(b" ", 3)
    if len(parts) != 4 or parts[1] not in _STREAMS or parts[2] not in (b"F", b"P"):
        return None
    return LogLine(parts[0], _STREAMS[parts[1]], parts[2] == b"F", parts[3])


class LogRendering:
    """Entries as a reader wants to see them; ``timestamps`` stand where a line begins."""

    def __init__(
        self, *, stream: LogStream = "All", since: float | None = None, timestamps: bool = False
    ) -> None:
        self._stream = stream
        self._since = format_log_time(since) if since is not None else b""
        self._timestamps = timestamps
        self._is_inside_line = False

    def includes(self, entry: LogLine) -> bool:
        return self._stream in ("All", entry.stream) and entry.at >= self._since

    def text(self, lines: Iterable[bytes]) -> bytes:
        made: list[bytes] = []
        for line in lines:
            entry = parse_entry(line)
            if entry is None or not self.includes(entry):
                continue
            if self._timestamps and not self._is_inside_line:
                made.append(entry.at + b" ")
            made.append(entry.content + b"\n" if entry.is_whole else entry.content)
            self._is_inside_line = not entry.is_whole
        return b"".join(made)
