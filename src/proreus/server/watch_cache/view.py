"""The cache's outward interfaces: how an event is encoded, and where its bytes go.

Implementations of ``View`` live in ``server/views``, of ``Sink`` in ``server/http``. The cache asks
a view for each frame once and gives the same bytes to every watcher of that view.

Nothing is written to a sink while ``WatchCache.watch`` runs; the first burst comes in a later turn
of the loop. So a handler can open its stream right after ``watch`` returned.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping
from typing import Any, Protocol, cast

from proreus.server.watch_cache.object import CachedObject

ADDED, MODIFIED, DELETED = "ADDED", "MODIFIED", "DELETED"


class DeferredFrame(ABC):
    """Stands for a frame until a sink asks for its bytes."""

    __slots__ = ()

    @abstractmethod
    def __len__(self) -> int:
        """How many bytes it counts as until then."""

    @abstractmethod
    def encoded(self) -> bytes: ...


Frame = bytes | DeferredFrame


class View(Protocol):
    """One way to write events. Hashable: equal views share their frames."""

    def event(self, event_type: str, obj: CachedObject) -> Frame:
        """One whole frame (JSON: a line with its line feed)."""
        ...

    def first_event(self, event_type: str, obj: CachedObject) -> Frame:
        """The first event of a stream. Table: with column definitions; others as ``event``."""
        ...

    def bookmark(self, revision: int, *, initial_events_end: bool) -> bytes: ...

    def first_bookmark(self, revision: int, *, initial_events_end: bool) -> bytes:
        """A bookmark that begins a stream, as ``first_event``."""
        ...

    def error(self, status: Mapping[str, Any]) -> bytes: ...

    def __hash__(self) -> int: ...


class EncodingView(View, Protocol):
    """A view that defers no frame: every sink can write what it makes."""

    def event(self, event_type: str, obj: CachedObject) -> bytes: ...

    def first_event(self, event_type: str, obj: CachedObject) -> bytes: ...


Encode = Callable[[bytes], bytes]  # how a transport marks where bytes end


class Burst:
    """Frames that go out together; made once for all watchers that get them.

    Each is the very object its view gave.
    """

    __slots__ = ("_encode", "_encoded", "frames")

    def __init__(self, frames: tuple[Frame, ...]) -> None:
        self.frames = frames
        self._encode: Encode | None = None
        self._encoded = b""

    @property
    def data(self) -> tuple[bytes, ...]:
        """The frames of a burst that has no deferred ones."""
        return cast(tuple[bytes, ...], self.frames)  # whose view defers some replaces them first

    def encoded(self, encode: Encode) -> bytes:
        """All frames as one transport sends them, made once for all sinks that use ``encode``."""
        if self._encode is not encode:
            data = self.data
            body = data[0] if len(data) == 1 else b"".join(data)
            self._encode, self._encoded = encode, encode(body)
        return self._encoded

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
