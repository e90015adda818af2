"""How much is worked on at once: requests wait in line, and a full line turns them away.

Watches do not count: they cost nothing while they wait.
"""

from __future__ import annotations

import asyncio
from collections import deque


class TooBusy(Exception):
    """The line is full."""


class InFlight:
    """At most ``limit`` at work and ``waiting_max`` in line; first come, first served."""

    __slots__ = ("_active", "_waiting", "limit", "waiting_max")

    def __init__(self, limit: int, waiting_max: int) -> None:
        self.limit = limit
        self.waiting_max = waiting_max
        self._active = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    @property
    def active(self) -> int:
        return self._active

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    async def enter(self) -> None:
        """Raises TooBusy. The caller's deadline ends the waiting."""
        if self._active < self.limit:
            self._active += 1
            return
        if len(self._waiting) >= self.waiting_max:
            raise TooBusy
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(place)
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():
                self.leave()  # our turn came at the moment we gave up
            elif place in self._waiting:
                self._waiting.remove(place)
            raise

    def leave(self) -> None:
        """Hand the place on, or give it back."""
        while self._waiting:
            place = self._waiting.popleft()
            if not place.done():
                place.set_result(None)
                return
        self._active -= 1

    def __repr__(self) -> str:
        return f"<InFlight {self._active} of {self.limit}, {len(self._waiting)} waiting>"
