"""One registered handler: its mailbox, its resync, whether it has seen the initial state.

Receives: Notification, from ``informer``.  Hands on: plain arguments, to the user's functions.
Invariant: a handler is called for one thing at a time, in the order of the mailbox.
Full: the mailbox grows, with an alarm each time it doubles, because nothing may be dropped and no
handler may stall another (docs/guarantees.md, "nothing starves"). One that is immediate has none:
its plain function is called where a change is applied, for half of the cost.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Generic, TypeAlias

import msgspec

from proreus.aio.clock import Clock
from proreus.aio.gate import Gate
from proreus.aio.mailbox import Mailbox, MailboxClosed
from proreus.api.object import KubeObject
from proreus.api.object_type import Object
from proreus.client.informer.status import HandlerStatus
from proreus.client.user_code import UserCode

log = logging.getLogger(__name__)

BACKLOG_ALARM = 1_024
RESYNC_MIN_S = 1.0
_TURN = 500  # notifications before others on the loop get theirs


class ChangeType(StrEnum):
    ADD = "add"
    UPDATE = "update"
    DELETE = "delete"


class Notification(msgspec.Struct, Generic[Object], frozen=True, gc=False):
    """What a handler receives. ``old`` is None for ADD, ``new`` for DELETE.

    ``is_initial``: an ADD that was there before the handler was. ``final_state_known`` False: a
    DELETE that was noticed late, ``old`` is the last state seen. ``is_resync``: nothing happened,
    the handler asked to be reminded.
    """

    change: ChangeType
    old: Object | None
    new: Object | None
    is_initial: bool = False
    final_state_known: bool = True
    is_resync: bool = False

    @property
    def object(self) -> Object:
        """The newest state known."""
        found = self.new if self.new is not None else self.old
        assert found is not None
        return found


OnObject: TypeAlias = Callable[[Object], object]
"""A function, or a coroutine function, of one object."""

OnUpdate: TypeAlias = Callable[[Object, Object], object]
"""A function, or a coroutine function, of the state before and after."""

OnNotification: TypeAlias = Callable[[Notification[Object]], object]

_Call: TypeAlias = tuple[Callable[..., object], tuple[object, ...]]
"""A function with its arguments."""


@dataclass(frozen=True, slots=True)
class Callbacks(Generic[Object]):
    """What the user wants to hear; ``on_notification`` hears everything, with details."""

    on_add: OnObject[Object] | None = None
    on_update: OnUpdate[Object] | None = None
    on_delete: OnObject[Object] | None = None
    on_notification: OnNotification[Object] | None = None

    @property
    def only_notification(self) -> OnNotification[Object] | None:
        """``on_notification`` where there is nothing else, as controllers have it."""
        others = (self.on_add, self.on_update, self.on_delete)
        return self.on_notification if others == (None, None, None) else None


class Handler:
    """The registration that ``SharedInformer.add_handler`` returns."""

    def __init__(
        self,
        name: str,
        callbacks: Callbacks[Any],  # of the informer's kind
        *,
        clock: Clock,
        resync_s: float,
        upstream: Gate,
        objects: Callable[[], Iterable[KubeObject]],
        is_immediate: bool = False,
    ) -> None:
        self.name = name
        self._callbacks = callbacks
        self._at_once = callbacks.only_notification if is_immediate else None
        self._clock = clock
        self._resync_s = max(resync_s, RESYNC_MIN_S) if resync_s > 0 else 0.0
        self._upstream = upstream  # open once the informer has handed out its initial state
        self._objects = objects
        self._mailbox: Mailbox[Notification] = Mailbox(
            high_water=BACKLOG_ALARM, alarm=self._backlog_grew
        )
        self._border = UserCode(f"handler {name}")
        self._initial_left = 0
        self._resyncs_left = 0
        self._caught_up = Gate(is_open=True)

    @property
    def has_synced(self) -> bool:
        """The informer has synced and every object of the initial state has been handled: the
        calls have returned."""
        return self._upstream.is_open and self._caught_up.is_open

    async def wait_synced(self) -> None:
        """Wait until ``has_synced``; the caller sets a deadline."""
        await self._upstream.wait_open()
        await self._caught_up.wait_open()

    @property
    def pending(self) -> int:
        """How many notifications wait."""
        return len(self._mailbox)

    @property
    def failure_count(self) -> int:
        """How many calls have raised."""
        return self._border.failure_count

    @property
    def is_removed(self) -> bool:
        return self._mailbox.is_closed

    # The informer's side.

    def notify(self, notification: Notification) -> None:
        if self._at_once is not None:
            try:
                self._at_once(notification)
            except (Exception, asyncio.CancelledError) as failure:
                self._border.failed(failure)
            return
        if self._mailbox.is_closed:
            return
        if notification.is_initial:
            self._initial_left += 1
            self._caught_up.shut()
        self._mailbox.put_nowait(notification)

    def remove(self) -> None:
        """Tell it nothing more and drop what waits; a call under way ends by itself. Idempotent."""
        self._at_once = None
        self._mailbox.close()
        self._caught_up.open()

    async def run(self) -> None:
        """Until removed. The owner starts it once."""
        async with asyncio.TaskGroup() as parts:
            resync = parts.create_task(self._resync()) if self._resync_s else None
            await self._deliver()
            if resync is not None:
                resync.cancel()

    async def _deliver(self) -> None:
        """Runs until the mailbox is closed."""
        handled, mailbox, border = 0, self._mailbox, self._border
        hears_all = self._callbacks.only_notification
        while True:
            try:
                notification = mailbox.get_nowait() if mailbox else await mailbox.get()
            except MailboxClosed:
                return
            if mailbox.is_closed:
                return
            if hears_all is not None:
                if (begun := border.begin(hears_all, notification)) is not None:
                    await border.finish(begun)
            else:
                for function, arguments in self._calls(notification):
                    if (begun := border.begin(function, *arguments)) is not None:
                        await border.finish(begun)
            if notification.is_initial:
                # A failed call counts: the handler has had its chance.
                self._initial_left -= 1
                if not self._initial_left:
                    self._caught_up.open()
            elif notification.is_resync:
                self._resyncs_left -= 1
            handled += 1
            if handled % _TURN == 0:
                await asyncio.sleep(0)

    def _calls(self, notification: Notification) -> list[_Call]:
        """What the user wants to hear of it."""
        callbacks, found = self._callbacks, list[_Call]()
        old, new = notification.old, notification.new
        if old is None:
            if callbacks.on_add is not None and new is not None:
                found.append((callbacks.on_add, (new,)))
        elif new is None:
            if callbacks.on_delete is not None:
                found.append((callbacks.on_delete, (old,)))
        elif callbacks.on_update is not None:
            found.append((callbacks.on_update, (old, new)))
        if callbacks.on_notification is not None:
            found.append((callbacks.on_notification, (notification,)))
        return found

    async def _resync(self) -> None:
        """Remind the handler of every cached object, once per period. A round that it has not
        worked off is not followed by another."""
        while True:
            await self._clock.sleep(self._resync_s)
            if self._resyncs_left or not self.has_synced:
                continue
            for obj in self._objects():
                self._resyncs_left += self._at_once is None
                self.notify(Notification(ChangeType.UPDATE, obj, obj, is_resync=True))

    def status(self) -> HandlerStatus:
        return HandlerStatus(self.name, self.has_synced, self.pending, self.failure_count)

    def _backlog_grew(self, pending: int) -> None:
        log.warning("handler falls behind: handler=%s pending=%d", self.name, pending)

    def __repr__(self) -> str:
        state = "removed" if self.is_removed else "synced" if self.has_synced else "not synced"
        return f"<Handler {self.name} {state}, {self.pending} pending>"
