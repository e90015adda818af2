"""A watch's bytes ⇄ its events: one JSON value per line, of any length.

Receives: chunks as the network cuts them, from ``net``.  Hands on: WatchEvent, to
``client.rest.watch_stream``.
Invariant: every byte belongs to exactly one line; where the chunks were cut leaves no trace.
Cost: a chunk is searched once; a line that spans chunks is joined once. One event of 3.7 kB takes
about 5 µs.
"""

from __future__ import annotations

from typing import Generic

import msgspec

from proreus.api.object import KubeObject, ObjectDecodeError
from proreus.api.object_type import Object

ADDED = "ADDED"
MODIFIED = "MODIFIED"
DELETED = "DELETED"
BOOKMARK = "BOOKMARK"
ERROR = "ERROR"

EVENT_TYPES = frozenset((ADDED, MODIFIED, DELETED, BOOKMARK, ERROR))


class WatchEvent(msgspec.Struct, Generic[Object], frozen=True, gc=False):
    """What happened and the object after it (before it, for DELETED). ERROR carries a Status."""

    type: str
    object: Object

    def __repr__(self) -> str:
        return f"<{self.type} {self.object!r}>"


class FrameTooLong(ValueError):
    """A line passed the splitter's limit before it ended."""


class LineSplitter:
    """Chunks in, whole lines out, without their newline; empty ones only if ``keep_empty``.

    ``limit`` bounds what an unfinished line may hold, so that a peer that never ends its line
    cannot fill the memory; None: no bound.
    """

    def __init__(self, limit: int | None = None, *, keep_empty: bool = False) -> None:
        self._keep_empty = keep_empty
        self._limit = limit
        self._parts: list[bytes] = []
        self._held = 0

    def feed(self, chunk: bytes) -> list[bytes]:
        lines = chunk.split(b"\n")
        rest = lines.pop()
        if lines and self._parts:
            self._parts.append(lines[0])
            lines[0] = b"".join(self._parts)
            self._parts, self._held = [], 0
        if rest:
            self._parts.append(rest)
            self._held += len(rest)
            if self._limit is not None and self._held > self._limit:
                raise FrameTooLong(f"a line is longer than {self._limit} bytes")
        return lines if self._keep_empty else [line for line in lines if line]

    def finish(self) -> bytes:
        """What came after the last newline: empty unless the stream ended inside a line, or its
        sender ends the last line without one."""
        rest = b"".join(self._parts)
        self._parts, self._held = [], 0
        return rest

    def __repr__(self) -> str:
        return f"<LineSplitter holding {self._held} bytes of an unfinished line>"


class _Frame(msgspec.Struct):
    type: str
    object: msgspec.Raw


_decode_frame = msgspec.json.Decoder(_Frame).decode
# How Kubernetes' servers begin a line; then the object needs no second scan to be found.
_HEADS = {b'{"type":"%b","object":{' % name.encode(): name for name in EVENT_TYPES}
_HEAD_LENGTHS = sorted({len(head) for head in _HEADS})


def decode_event(line: bytes) -> WatchEvent:
    """The event of one line. Raises ``ObjectDecodeError`` if it is none."""
    for length in _HEAD_LENGTHS:
        event_type = _HEADS.get(line[:length])
        if event_type is not None and line.endswith(b"}}"):
            try:
                return WatchEvent(event_type, KubeObject.from_bytes(line[length - 1 : -1]))
            except ObjectDecodeError:
                break  # legal JSON that only begins alike; the full reading decides
    try:
        frame = _decode_frame(line)
    except msgspec.DecodeError as problem:
        raise ObjectDecodeError(f"not a watch event: {problem}") from problem
    if frame.type not in EVENT_TYPES:
        raise ObjectDecodeError(f"not a watch event: unknown type {frame.type!r}")
    return WatchEvent(frame.type, KubeObject.from_bytes(frame.object))
