"""What one request holds of what all requests share: seats of its priority level, memory.

A request takes seats (Kubernetes' term) of its flow's level once its user is known, waits for them
if it must, and gives them back while it only waits itself: for the rest of its body, or for a
revision. A watch has them until it has begun; other streams take none.

Invariant: no user can hold so much that another finds nothing: levels see to it for seats
(``server/fairness``), ``Share`` for what waits without one and for bodies.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import field

from proreus.aio.clock import Clock, SystemClock, deadline
from proreus.lazy_dataclass import dataclass
from proreus.server.fairness.queues import EXEMPT, Ticket, TooBusy
from proreus.server.fairness.request_flow import RequestFlow

_QUEUE_S = 15.0  # a quarter of the time that a request has


class Share:
    """An amount that users share: each may hold as much as it leaves free for others.

    One user alone gets half of ``total``; n users who all want more end up with an (n+1)th each,
    and as much stays free for the next one. Even n users who never give anything back leave a
    2ⁿth. No user needs to be known or configured beforehand.
    """

    __slots__ = ("_held", "total", "used")

    def __init__(self, total: int) -> None:
        self.total = total
        self.used = 0
        self._held: dict[str, int] = {}  # by user; never 0

    def take(self, user: str, amount: int = 1) -> bool:
        """False if that would be more than the user may hold; then nothing is taken."""
        held = self._held.get(user, 0) + amount
        if held > self.total - self.used:
            return False
        self._held[user] = held
        self.used += amount
        return True

    def give_back(self, user: str, amount: int = 1) -> None:
        held = self._held[user] - amount
        self.used -= amount
        if held:
            self._held[user] = held
        else:
            del self._held[user]

    def __repr__(self) -> str:
        return f"<Share: {self.used} of {self.total}, {len(self._held)} users>"


class Seat:
    """One request's claims; without a ``flow`` it is not limited.

    ``leave`` gives everything back, whatever the request holds when it ends.
    """

    __slots__ = (
        "_body_bytes",
        "_flow",
        "_is_read",
        "_is_watch",
        "_limits",
        "_ticket",
        "_user",
        "_width",
    )

    def __init__(
        self,
        user: str,
        flow: RequestFlow | None,
        limits: Limits,
        *,
        width: int = 1,
        is_read: bool = True,
        is_watch: bool = False,
    ) -> None:
        self._user = user
        self._flow = flow
        self._limits = limits
        self._width = width
        self._is_read = is_read
        self._is_watch = is_watch
        self._ticket: Ticket | None = None
        self._body_bytes = 0

    def take_nowait(self) -> bool:
        """Whether it needs to wait no longer."""
        flow = self._flow
        if flow is None:
            return True
        level = flow.level
        if level.config.is_exempt:
            level.seats.enter_exempt()
            self._hold(flow, EXEMPT)
            return True
        ticket = level.seats.take_nowait(flow.schema.name, flow.name, self._width)
        if ticket is None:
            return False
        self._hold(flow, ticket)
        return True

    async def take(self) -> None:
        """Raises TooBusy."""
        flow = self._flow
        if flow is None or self.take_nowait():
            return
        counts, waiting = flow.counts, self._limits.waiting_by_kind
        counts.waiting += 1
        counts.waiting_seats += self._width
        waited_s = counts.vain_wait_s
        waiting[self._is_read] += 1
        begun = self._limits.clock.monotonic()
        try:
            async with deadline(self._limits.clock, _QUEUE_S):
                ticket = await flow.level.seats.take(
                    flow.schema.name, flow.name, flow.hashed(), self._width
                )
            waited_s = counts.wait_s
        except asyncio.CancelledError:
            flow.level.seats.counts.cancelled += 1
            raise
        except TimeoutError:
            counts.timed_out += 1
            flow.level.seats.counts.timed_out += 1
            raise TooBusy from None
        except TooBusy:
            counts.rejected += 1
            raise
        finally:
            counts.waiting -= 1
            counts.waiting_seats -= self._width
            waiting[self._is_read] -= 1
            waited_s.add(self._limits.clock.monotonic() - begun)
        self._hold(flow, ticket)

    def _hold(self, flow: RequestFlow, ticket: Ticket) -> None:
        self._ticket = ticket
        flow.counts.executing += 1
        flow.counts.seats += self._width
        flow.counts.dispatched += 1
        self._limits.working[self._is_read] += 1

    def _give_back(self) -> None:
        flow, ticket, self._ticket = self._flow, self._ticket, None
        assert flow is not None
        assert ticket is not None
        flow.counts.executing -= 1
        flow.counts.seats -= self._width
        self._limits.working[self._is_read] -= 1
        if ticket is EXEMPT:
            flow.level.seats.leave_exempt()
        else:
            counts = flow.counts
            taken_s = counts.watch_s if self._is_watch else counts.execution_s
            taken_s.add(flow.level.seats.give_back(ticket))

    @asynccontextmanager
    async def given_back(self) -> AsyncIterator[None]:
        """Without a seat while the body of the ``async with`` waits; then it takes one again, or
        none if that failed. Raises TooBusy."""
        if self._ticket is None:
            yield
            return
        share = self._limits.waiting
        if not share.take(self._user):
            raise TooBusy
        self._give_back()
        waiting = self._limits.waiting_by_kind
        waiting[self._is_read] += 1
        try:
            yield
        finally:
            waiting[self._is_read] -= 1
            share.give_back(self._user)
        await self.take()

    def keep(self, size: int) -> None:
        """Count ``size`` more bytes of its body as kept in memory. Raises TooBusy."""
        if not self._limits.bodies.take(self._user, size):
            raise TooBusy
        self._body_bytes += size

    def leave(self) -> None:
        if self._ticket is not None:
            self._give_back()
        if self._body_bytes:
            self._limits.bodies.give_back(self._user, self._body_bytes)
            self._body_bytes = 0


# What all request bodies that are being received may occupy, together.
_BODIES_BYTES_MAX = 256 * 1024 * 1024
_WAITING_MAX = 4000  # requests that wait without a seat for their bodies or for a revision


@dataclass(slots=True)
class Limits:
    """What all requests of a server share beside seats, and how many there are.

    Of pairs, the first is of writes and the second of reads.
    """

    clock: Clock
    waiting: Share = field(default_factory=lambda: Share(_WAITING_MAX))
    bodies: Share = field(default_factory=lambda: Share(_BODIES_BYTES_MAX))
    working: list[int] = field(default_factory=lambda: [0, 0])
    waiting_by_kind: list[int] = field(default_factory=lambda: [0, 0])
    rejected: int = 0


NO_SEAT = Seat("", None, Limits(SystemClock()))  # of a request whose user is not known yet
