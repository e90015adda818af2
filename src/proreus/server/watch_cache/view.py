"""What the cache needs from the outside: how an event looks, and where its bytes go.

Implementations of ``View`` live in ``server/views``, of ``Sink`` in ``server/http``. The cache asks
a view for each frame once and gives the same bytes to every watcher of that view.

Nothing is written to a sink while ``WatchCache.watch`` runs; the first burst comes in a later turn
of the loop. So a handler can open its stream right after ``watch`` returned.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, Protocol

from proreus.server.watch_cache.object import CachedObject

ADDED, MODIFIED, DELETED = "ADDED", "MODIFIED", "DELETED"


class View(Protocol):
    """One way to write events. Hashable: equal views share their frames."""

    def event(self, event_type: str, obj: CachedObject) -> bytes:
        """One whole frame (JSON: a line with its line feed)."""
        ...

    def first_event(self, event_type: str, obj: CachedObject) -> bytes:
        """The first event of a stream. Table: with column definitions; others as ``event``."""
        ...

    def bookmark(self, revision: int, *, initial_events_end: bool) -> bytes: ...

    def first_bookmark(self, revision: int, *, initial_events_end: bool) -> bytes:
        """A bookmark that begins a stream, as ``first_event``."""
        ...

    def error(self, status: Mapping[str, Any]) -> bytes: ...

    def __hash__(self) -> int: ...


class Burst:
    """Frames that go out together; made once for all watchers that get them.

    Each is the very object its view gave: it may stand for a frame that is still to come.
    """

    __slots__ = ("_http_chunk", "frames")

    def __init__(self, frames: tuple[bytes, ...]) -> None:
        self.frames = frames
        self._http_chunk: bytes | None = None

    @property
    def http_chunk(self) -> bytes:
        """All frames as one chunk of HTTP's chunked coding, computed on first use."""
        if self._http_chunk is None:
            body = self.frames[0] if len(self.frames) == 1 else b"".join(self.frames)
            self._http_chunk = b"%x\r\n%b\r\n" % (len(body), body)
        return self._http_chunk

    def __repr__(self) -> str:
        return f"<Burst of {len(self.frames)} frames, {sum(map(len, self.frames))} B>"


class Sink(Protocol):
    """One watcher's stream. ``write`` never blocks and never raises for a lost connection."""

    def write(self, burst: Burst) -> None: ...

    @property
    def buffered(self) -> int:
        """Bytes written but not yet taken by the kernel."""
        ...

    def close(self) -> None:
        """End the stream normally."""
        ...


# One burst to many, as by ``write`` to each; whether any of them may hold some of it back.
Deliver = Callable[[Collection[Sink], Burst], bool]


def write_to_each(sinks: Collection[Sink], burst: Burst) -> bool:
    for sink in sinks:
        sink.write(burst)
    return True
