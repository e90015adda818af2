"""Expiry of keys with a time to live: one timer for the next."""

from __future__ import annotations

import heapq
from collections.abc import Callable

from proreus.aio.clock import Clock, Timer


class Expiries:
    """``expire(key, revision)`` is called when a key's time is over; it may be outdated by then."""

    def __init__(self, clock: Clock, expire: Callable[[str, int], None]) -> None:
        self._clock = clock
        self._expire = expire
        self._due: list[tuple[float, str, int]] = []
        self._timer: Timer | None = None
        self._timer_at = float("inf")

    def add(self, at: float, key: str, revision: int) -> None:
        """``at`` is calendar time, so that it means the same after a restart."""
        heapq.heappush(self._due, (at, key, revision))
        self._arm()

    def load(self, entries: list[tuple[float, str, int]]) -> None:
        self._due = entries
        heapq.heapify(self._due)
        self._arm()

    def close(self) -> None:
        self._due.clear()
        if self._timer is not None:
            self._timer.cancel()

    def _arm(self) -> None:
        if not self._due or self._due[0][0] >= self._timer_at:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer_at = self._due[0][0]
        delay_s = max(0.0, self._timer_at - self._clock.now())
        self._timer = self._clock.call_later(delay_s, self._fire)

    def _fire(self) -> None:
        self._timer, self._timer_at = None, float("inf")
        now = self._clock.now()
        while self._due and self._due[0][0] <= now:
            _, key, revision = heapq.heappop(self._due)
            self._expire(key, revision)
        self._arm()

    def __repr__(self) -> str:
        return f"<Expiries: {len(self._due)} keys will end>"
