"""A queue between two parts, with a stated rule for when it is full.

Bounded: ``put_nowait`` refuses, ``put`` waits, so pressure reaches the producer. Unbounded: it
grows, and an alarm is raised each time its length doubles past the high-water mark, for the places
where nothing may be dropped and no receiver may stall another (docs/guarantees.md, "nothing
starves").
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

from proreus.aio.waiters import wake_first

T = TypeVar("T")


class MailboxClosed(Exception):
    """Nothing more comes out: closed and empty; or nothing more goes in: closed."""


class MailboxFull(Exception):
    """A bounded mailbox has no room."""


class Mailbox(Generic[T]):
    """One consumer, any number of producers, one event loop. O(1) per item, no task."""

    def __init__(
        self,
        *,
        limit: int | None = None,
        high_water: int = 1_000,
        alarm: Callable[[int], None] | None = None,
    ) -> None:
        self._items: deque[T] = deque()
        self._limit = limit
        self._alarm = alarm
        self._high_water = high_water
        self._alarm_at = high_water
        self._closed = False
        self._arrival: asyncio.Future[None] | None = None
        self._room: deque[asyncio.Future[None]] = deque()

    def __len__(self) -> int:
        return len(self._items)

    @property
    def is_closed(self) -> bool:
        return self._closed

    def put_nowait(self, item: T) -> None:
        """Raises MailboxFull, MailboxClosed."""
        if self._closed:
            raise MailboxClosed
        if self._limit is not None and len(self._items) >= self._limit:
            raise MailboxFull
        self._items.append(item)
        if self._alarm is not None and len(self._items) >= self._alarm_at:
            self._alarm_at *= 2
            self._alarm(len(self._items))
        self._wake_consumer()

    async def put(self, item: T) -> None:
        """Wait for room. The wait ends when the consumer takes or the mailbox is closed."""
        while not self._closed and self._limit is not None and len(self._items) >= self._limit:
            room: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._room.append(room)
            try:
                await room
            except asyncio.CancelledError:
                if room.done() and not room.cancelled():
                    wake_first(self._room)  # the room given to us goes to the next in line
                raise
        self.put_nowait(item)

    async def get(self) -> T:
        """The oldest item. Raises MailboxClosed once closed and empty."""
        while not self._items:
            await self._wait_arrival()
        return self._take()

    def get_nowait(self) -> T:
        """The oldest item; there must be one."""
        return self._take()

    def close(self) -> None:
        """Refuse further items; what is inside can still be taken. Idempotent."""
        self._closed = True
        self._wake_consumer()
        while self._room:
            wake_first(self._room)

    def _take(self) -> T:
        item = self._items.popleft()
        self._after_take()
        return item

    def _after_take(self) -> None:
        if len(self._items) < self._high_water:
            self._alarm_at = self._high_water
        if self._room:
            wake_first(self._room)

    async def _wait_arrival(self) -> None:
        if self._closed:
            raise MailboxClosed
        assert self._arrival is None, "a mailbox has one consumer"
        self._arrival = asyncio.get_running_loop().create_future()
        try:
            await self._arrival
        finally:
            self._arrival = None

    def _wake_consumer(self) -> None:
        if self._arrival is not None and not self._arrival.done():
            self._arrival.set_result(None)

    def __repr__(self) -> str:
        state = "closed" if self._closed else "open"
        bound = f" of {self._limit}" if self._limit is not None else ""
        return f"<Mailbox {state}, {len(self._items)}{bound} waiting>"
