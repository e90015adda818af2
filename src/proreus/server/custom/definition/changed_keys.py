"""A sink for the watch of definitions that queues the keys of changed ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from proreus.server.key_queue import KeyQueue
from proreus.server.watch_cache.object import CachedObject
from proreus.server.watch_cache.view import Burst


class KeyView:
    """An event is the object's key."""

    def event(self, event_type: str, obj: CachedObject) -> bytes:
        return obj.key.encode()

    first_event = event

    def bookmark(self, revision: int, *, initial_events_end: bool) -> bytes:
        return b""

    first_bookmark = bookmark

    def error(self, status: Mapping[str, Any]) -> bytes:
        return b""

    def __hash__(self) -> int:
        return hash(KeyView)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, KeyView)


class ChangedKeys:
    """Puts the keys into a queue."""

    def __init__(self, queue: KeyQueue[str]) -> None:
        self._queue = queue

    def write(self, burst: Burst) -> None:
        for frame in burst.data:
            if frame:
                self._queue.add(frame.decode())

    @property
    def buffered(self) -> int:
        return 0

    def close(self) -> None:
        return None
