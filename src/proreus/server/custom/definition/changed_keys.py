"""A sink for the watch of definitions that collects the keys of changed ones."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

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
    """Keys that changed since they were last taken. Bounded by the number of definitions."""

    def __init__(self) -> None:
        self._keys: dict[str, None] = {}
        self._any = asyncio.Event()

    def write(self, burst: Burst) -> None:
        for frame in burst.data:
            if frame:
                self.add(frame.decode())

    def add(self, key: str) -> None:
        self._keys[key] = None
        self._any.set()

    @property
    def buffered(self) -> int:
        return 0

    def close(self) -> None:
        return None

    async def wait_any(self) -> None:
        """Waits as long as nothing happens: the owner's cancellation ends it."""
        await self._any.wait()

    def take(self) -> list[str]:
        taken = list(self._keys)
        self._keys.clear()
        self._any.clear()
        return taken
