"""Events between the requests that make them and the back end that takes them away.

Bounded by number and by bytes: a back end that is slow or broken loses events and never holds up a
request. Lost events are counted; a back end that goes on losing them is logged once.
"""

from __future__ import annotations

from collections import deque

import structlog

from proreus.aio.gate import Gate, Waterline
from proreus.server.audit.metrics import AuditMetrics

EVENTS_MAX = 10_000  # kube-apiserver's default of --audit-webhook-batch-buffer-size
BYTES_MAX = 64 * 1024 * 1024
_log = structlog.get_logger(__name__)


class Backlog:
    """Encoded events of the back end ``name``, oldest first. ``waiting`` is open while there are
    any, ``has_batch`` while there are at least ``batch_events``. ``lost`` counts."""

    def __init__(
        self,
        name: str,
        metrics: AuditMetrics,
        *,
        events_max: int = EVENTS_MAX,
        bytes_max: int = BYTES_MAX,
        batch_events: int = 1,
        event_bytes_max: int = 0,
    ) -> None:
        """``event_bytes_max``: what a back end takes of one event; 0: any length."""
        self.event_bytes_max = event_bytes_max
        self.lost = 0
        self._taken = 0
        self._handled = Waterline()  # how many events were delivered or lost
        self._name = name
        self._metrics = metrics
        self._events: deque[bytes] = deque()
        self._bytes = 0
        self._events_max = events_max
        self._bytes_max = bytes_max
        self._batch_events = batch_events
        self.waiting = Gate()
        self.has_batch = Gate()
        self._is_failing = False

    def __len__(self) -> int:
        return len(self._events)

    def offer(self, event: bytes) -> None:
        """Keep an event; if there is no room, it is lost."""
        if len(self._events) >= self._events_max or self._bytes + len(event) > self._bytes_max:
            self.lose(1, "too many events wait for the back end")
            return
        self._events.append(event)
        self._bytes += len(event)
        if len(self._events) == 1:
            self.waiting.open()
        if len(self._events) == self._batch_events:
            self.has_batch.open()

    def take(self, events_max: int | None = None, bytes_max: int | None = None) -> list[bytes]:
        """The oldest ones; at least one if there is one, however long it is."""
        taken: list[bytes] = []
        size = 0
        while self._events and (events_max is None or len(taken) < events_max):
            size += len(self._events[0])
            if taken and bytes_max is not None and size > bytes_max:
                break
            taken.append(self._events.popleft())
            self._bytes -= len(taken[-1])
        self._taken += len(taken)
        if not self._events:
            self.waiting.shut()
        if len(self._events) < self._batch_events:
            self.has_batch.shut()
        return taken

    def lose(self, count: int, why: str) -> None:
        """Note that so many events will not reach the back end."""
        self.lost += count
        self._handled.rise_to(self._taken)
        self._metrics.errors[self._name] += count
        if not self._is_failing:
            _log.error("audit events lost", backend=self._name, error=why)
        self._is_failing = True

    def delivered(self) -> None:
        """The back end took what it was given: the next loss is logged again."""
        self._is_failing = False
        self._handled.rise_to(self._taken)

    async def wait_handled(self) -> None:
        """Until what was offered so far is delivered or lost. The caller sets the deadline."""
        await self._handled.wait_for(self._taken + len(self._events))

    def __repr__(self) -> str:
        return f"<Backlog of {len(self._events)} events, {self._bytes} bytes>"
