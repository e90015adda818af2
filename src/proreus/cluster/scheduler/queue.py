"""Pods that wait for a node: ready ones by priority, failed ones backing off or parked. Pure.

    active ──take──▶ in flight ──failed──▶ parked ──event or 5 min──▶ backing off ──▶ active
                         └──placed or deleted──▶ gone

A parked pod is looked at again when something changed that could help it; it still waits out its
back-off, so a pod that never fits cannot starve the others. If the cluster or the pod changed while
it was in flight, it is not parked: the decision may be outdated.
"""

from __future__ import annotations

import heapq
import itertools
from dataclasses import dataclass

INITIAL_BACKOFF_S = 1.0
MAX_BACKOFF_S = 10.0
PARKED_AT_MOST_S = 300.0


@dataclass(slots=True)
class _Waiting:
    key: str
    priority: int
    since: float
    attempts: int = 0
    ready_at: float = 0.0  # end of the back-off
    parked_at: float | None = None
    entry: int = 0  # the newest entry in the heaps that counts


class SchedulingQueue:
    """Keys of pods; the caller brings the time. O(log n) per operation."""

    def __init__(self) -> None:
        self._pods: dict[str, _Waiting] = {}
        self._active: list[tuple[int, float, int, str]] = []
        self._backing_off: list[tuple[float, int, str]] = []
        self._in_flight: set[str] = set()
        self._outdated: set[str] = set()  # changed while in flight
        self._parked: dict[str, _Waiting] = {}
        self._entries = itertools.count(1)
        self._moves = 0  # how often the cluster changed

    def __len__(self) -> int:
        return len(self._pods)

    @property
    def moves(self) -> int:
        """Hand this back to ``failed``: it tells whether the cluster changed meanwhile."""
        return self._moves

    def add(self, key: str, priority: int, now: float) -> None:
        """A pod appeared or changed: try it, whatever happened before."""
        known = self._pods.get(key)
        if known is not None and key in self._in_flight:
            self._outdated.add(key)
            return
        waiting = known or _Waiting(key, priority, now)
        waiting.priority, waiting.parked_at = priority, None
        self._parked.pop(key, None)
        self._pods[key] = waiting
        self._activate(waiting)

    def forget(self, key: str) -> None:
        """Placed, or deleted."""
        self._pods.pop(key, None)
        self._parked.pop(key, None)
        self._in_flight.discard(key)
        self._outdated.discard(key)

    def take(self, now: float) -> str | None:
        """The next pod to place: highest priority, then longest waiting."""
        self._end_backoffs(now)
        while self._active:
            *_, entry, key = heapq.heappop(self._active)
            waiting = self._pods.get(key)
            if waiting is not None and waiting.entry == entry:
                waiting.attempts += 1
                self._in_flight.add(key)
                return key
        return None

    def failed(self, key: str, now: float, moves: int) -> None:
        """No node, or the binding failed. ``moves`` is the value from when it was taken."""
        if key not in self._in_flight:
            return  # forgotten meanwhile; another pod may have its name
        waiting = self._pods[key]
        is_outdated = moves != self._moves or key in self._outdated
        self._in_flight.discard(key)
        self._outdated.discard(key)
        waiting.ready_at = now + backoff_s(waiting.attempts)
        if is_outdated:
            self._back_off(waiting)
        else:
            waiting.parked_at = now
            waiting.entry = next(self._entries)
            self._parked[key] = waiting

    def cluster_changed(self) -> None:
        """A node or a placed pod changed: parked pods may fit now. O(parked)."""
        self._moves += 1
        for waiting in self._parked.values():
            self._unpark(waiting)
        self._parked.clear()

    def unpark_overdue(self, now: float) -> None:
        overdue = [
            waiting
            for waiting in self._parked.values()
            if waiting.parked_at is not None and now - waiting.parked_at >= PARKED_AT_MOST_S
        ]
        for waiting in overdue:
            del self._parked[waiting.key]
            self._unpark(waiting)

    def next_ready_in(self, now: float) -> float | None:
        """Seconds until a back-off ends, None if none is running."""
        while self._backing_off:
            ready_at, entry, key = self._backing_off[0]
            waiting = self._pods.get(key)
            if waiting is not None and waiting.entry == entry:
                return max(0.0, ready_at - now)
            heapq.heappop(self._backing_off)
        return None

    def _end_backoffs(self, now: float) -> None:
        while self._backing_off and self._backing_off[0][0] <= now:
            _, entry, key = heapq.heappop(self._backing_off)
            waiting = self._pods.get(key)
            if waiting is not None and waiting.entry == entry:
                self._activate(waiting)

    def _activate(self, waiting: _Waiting) -> None:
        waiting.entry = next(self._entries)
        order = (-waiting.priority, waiting.since, waiting.entry, waiting.key)
        heapq.heappush(self._active, order)

    def _unpark(self, waiting: _Waiting) -> None:
        waiting.parked_at = None
        self._back_off(waiting)

    def _back_off(self, waiting: _Waiting) -> None:
        waiting.entry = next(self._entries)
        heapq.heappush(self._backing_off, (waiting.ready_at, waiting.entry, waiting.key))

    def __repr__(self) -> str:
        return (
            f"<SchedulingQueue: {len(self._pods)} pods, {len(self._in_flight)} in flight, "
            f"{len(self._parked)} parked>"
        )


def backoff_s(attempts: int) -> float:
    return min(INITIAL_BACKOFF_S * 2.0 ** min(attempts - 1, 10), MAX_BACKOFF_S)
