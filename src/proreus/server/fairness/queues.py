"""The seats of one priority level, and the queues in which its requests wait for them.

While nothing waits, a request that finds its seats free takes them and belongs to no queue. Else it
joins the shortest of its flow's queues, and queues are served by start-time fair queuing: what a
queue is given, seats × seconds, moves its virtual time on, and the one that is furthest behind is
next. A request that ends sooner or later than was expected corrects its queue's time.

Invariant: no request waits while its level has seats for the next one. A request that is wider than
the whole level runs alone.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import field

from proreus.lazy_dataclass import dataclass
from proreus.server.fairness.concurrency import DemandMeter, SeatDemand
from proreus.server.fairness.shuffle_sharding import deal

_EXPECTED_S = 0.003  # what a request is expected to take, until it has ended


class TooBusy(Exception):
    """There is no place to wait in, or waiting took too long."""


@dataclass(frozen=True, slots=True)
class Queuing:
    """``queues`` 0: nothing waits, what finds no seat is refused."""

    queues: int = 0
    hand_size: int = 0
    length_limit: int = 0


@dataclass(slots=True, eq=False)
class Ticket:
    """A request that has seats or waits for them."""

    schema: str
    flow: str
    width: int
    arrived_at: float
    started_at: float | None = None
    queue: FlowQueue | None = None
    turn: asyncio.Future[None] | None = None


EXEMPT = Ticket("", "", 0, 0.0)  # of every request of an exempt level


@dataclass(slots=True, eq=False)
class FlowQueue:
    index: int
    virtual_s: float = 0.0  # seats × seconds that it was given
    waiting: deque[Ticket] = field(default_factory=deque)
    executing: int = 0
    seats: int = 0

    def load(self) -> int:
        return self.seats + sum(ticket.width for ticket in self.waiting)


@dataclass(slots=True)
class LevelCounts:
    """Since the level began."""

    dispatched: int = 0
    rejected: int = 0
    timed_out: int = 0
    cancelled: int = 0  # by their clients or deadlines, while they waited


class LevelSeats:
    """See the module. ``limit`` may be changed by ``resize``, the queues by ``configure``."""

    def __init__(self, name: str, limit: int, queuing: Queuing, now: Callable[[], float]) -> None:
        self.name = name
        self.limit = limit
        self.in_use = 0
        self.executing = 0
        self.waiting = 0
        self.counts = LevelCounts()
        self._demand = DemandMeter()
        self._waiting_seats = 0
        self._queuing = queuing
        self._now = now
        self._virtual_s = 0.0  # of the queue served last
        self._queues: dict[int, FlowQueue] = {}  # those in use
        self._changed_at = now()

    def take_nowait(self, schema: str, flow: str, width: int) -> Ticket | None:
        """None: it would have to wait."""
        if self.waiting or not self._has_room(width):
            return None
        ticket = Ticket(schema, flow, width, self._now())
        self._start(ticket)
        return ticket

    def enter_exempt(self) -> None:
        """Of an exempt level: whatever comes is let in, and only counted."""
        self.executing += 1
        self.counts.dispatched += 1

    def leave_exempt(self) -> None:
        self.executing -= 1

    async def take(self, schema: str, flow: str, hashed: int, width: int) -> Ticket:
        """Raises TooBusy. The caller's deadline ends the waiting."""
        if (ticket := self.take_nowait(schema, flow, width)) is not None:
            return ticket
        queue = self._shortest(hashed)
        if queue is None or len(queue.waiting) >= self._queuing.length_limit:
            self.counts.rejected += 1
            raise TooBusy
        ticket = Ticket(schema, flow, width, self._now(), queue=queue)
        ticket.turn = asyncio.get_running_loop().create_future()
        self._join(queue, ticket)
        try:
            await ticket.turn
        except asyncio.CancelledError:
            if ticket.turn.cancelled():
                self._leave_queue(queue, ticket)
            else:
                self.give_back(ticket)  # it got its seats in the turn in which it was cancelled
            raise
        return ticket

    def give_back(self, ticket: Ticket) -> float:
        """How long the request had its seats."""
        self._measure()
        self.in_use -= ticket.width
        self.executing -= 1
        assert ticket.started_at is not None
        taken_s = self._changed_at - ticket.started_at
        queue = ticket.queue
        if queue is not None:
            queue.executing -= 1
            queue.seats -= ticket.width
            queue.virtual_s += ticket.width * (taken_s - _EXPECTED_S)
            self._forget_if_idle(queue)
        self._serve()
        return taken_s

    def resize(self, limit: int) -> None:
        self.limit = limit
        self._serve()

    def configure(self, queuing: Queuing) -> None:
        """What waits already keeps its place."""
        self._queuing = queuing

    def close_period(self) -> SeatDemand:
        """What was wanted since the last call."""
        self._measure()
        return self._demand.close()

    def queues(self) -> Iterable[FlowQueue]:
        return sorted(self._queues.values(), key=lambda queue: queue.index)

    def _has_room(self, width: int) -> bool:
        return self.in_use + width <= self.limit or (self.in_use == 0 and self.limit > 0)

    def _start(self, ticket: Ticket) -> None:
        self._measure()
        self.in_use += ticket.width
        self.executing += 1
        self.counts.dispatched += 1
        ticket.started_at = self._changed_at

    def _shortest(self, hashed: int) -> FlowQueue | None:
        """Of the flow's queues the one with the fewest seats asked for and in use."""
        queuing = self._queuing
        hand = [
            self._queues.get(index) or FlowQueue(index, self._virtual_s)
            for index in deal(hashed, queuing.queues, queuing.hand_size)
        ]
        return min(hand, key=FlowQueue.load, default=None)

    def _join(self, queue: FlowQueue, ticket: Ticket) -> None:
        self._measure()
        if queue.index not in self._queues:
            self._queues[queue.index] = queue
        if not queue.waiting and not queue.executing:
            queue.virtual_s = max(queue.virtual_s, self._virtual_s)
        queue.waiting.append(ticket)
        self.waiting += 1
        self._waiting_seats += ticket.width

    def _leave_queue(self, queue: FlowQueue, ticket: Ticket) -> None:
        if ticket not in queue.waiting:
            return  # it was passed over already
        self._measure()
        queue.waiting.remove(ticket)
        self._no_longer_waiting(ticket)
        self._forget_if_idle(queue)
        self._serve()  # it may have been the one that was too wide for the seats left

    def _no_longer_waiting(self, ticket: Ticket) -> None:
        self.waiting -= 1
        self._waiting_seats -= ticket.width

    def _serve(self) -> None:
        while self.waiting:
            queue = min(
                (queue for queue in self._queues.values() if queue.waiting),
                key=lambda queue: queue.virtual_s,
            )
            ticket = queue.waiting[0]
            assert ticket.turn is not None
            is_gone = ticket.turn.cancelled()
            if not is_gone and not self._has_room(ticket.width):
                return
            queue.waiting.popleft()
            self._no_longer_waiting(ticket)
            if is_gone:
                self._forget_if_idle(queue)
                continue
            self._virtual_s = queue.virtual_s
            queue.virtual_s += ticket.width * _EXPECTED_S
            queue.executing += 1
            queue.seats += ticket.width
            self._start(ticket)
            ticket.turn.set_result(None)

    def _forget_if_idle(self, queue: FlowQueue) -> None:
        """A flow that comes back later begins at the virtual time of the others."""
        if not queue.waiting and not queue.executing:
            self._queues.pop(queue.index, None)

    def _measure(self) -> None:
        now = self._now()
        self._demand.add(self.in_use + self._waiting_seats, now - self._changed_at)
        self._changed_at = now

    def __repr__(self) -> str:
        return f"<LevelSeats {self.name}: {self.in_use} of {self.limit}, {self.waiting} waiting>"
