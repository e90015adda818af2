"""One watch: what it selects, how far it is, where its frames go (Kubernetes: cacheWatcher).

    Starting ─▶ Replaying ─▶ Live ─▶ Closed          Ending ─▶ Closed
                   ▲  too slow │        ▲
                   └───────────┘  Parked┘  (asked for a revision that is still to come)

Receives: Transition, from ``fan_out`` when live, from ``catch_up`` before.
Hands on: Burst, to its sink.
Invariant: a transition after ``floor`` that concerns it is written once, in order, or the watch is
closed. Nothing is stored per watcher and event: before it is live it reads history by position.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from proreus.aio.gate import Gate
from proreus.server.watch_cache.agenda import Entry
from proreus.server.watch_cache.history import Transition
from proreus.server.watch_cache.object import CachedObject
from proreus.server.watch_cache.query import Selection
from proreus.server.watch_cache.selecting import Matches, matcher
from proreus.server.watch_cache.view import ADDED, DELETED, MODIFIED, Burst, Sink, View


@dataclass(slots=True)
class Starting:
    """The initial state is being written; then history from ``position`` on."""

    objects: list[CachedObject]
    position: int
    written: int = 0
    end_mark: int | None = None  # the revision of the bookmark that ends the initial events


@dataclass(slots=True)
class Replaying:
    """History is being written from ``position`` on."""

    position: int


@dataclass(frozen=True, slots=True)
class Parked:
    """Everything up to ``until`` is to be passed over; nothing after it exists yet."""

    until: int


@dataclass(frozen=True, slots=True)
class Live:
    """Gets every change in the turn it is made."""


@dataclass(frozen=True, slots=True)
class Ending:
    """Will be closed in the next turn, with an ERROR event if there is a status."""

    reason: str
    status: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Closed:
    reason: str


Phase = Starting | Replaying | Parked | Live | Ending | Closed


class Subscriber:
    """``floor``: only changes and bookmarks after it are for this watch (spec/server §4.11)."""

    __slots__ = (
        "_closed", "_on_close", "bookmarks", "deadline_s", "floor", "has_received", "matches",
        "next_bookmark", "phase", "selection", "sink", "view",
    )  # fmt: skip

    def __init__(self, selection: Selection, view: View, sink: Sink, *, bookmarks: bool) -> None:
        self.selection = selection
        self.matches: Matches | None = matcher(selection)
        self.view = view
        self.sink = sink
        self.bookmarks = bookmarks
        self.floor = 0
        self.deadline_s: float | None = None
        self.next_bookmark: Entry | None = None
        self.phase: Phase = Ending("not started")
        self.has_received = False
        self._closed = Gate()
        self._on_close: list[Callable[[], None]] = []

    @property
    def is_closed(self) -> bool:
        return self._closed.is_open

    def when_closed(self, callback: Callable[[], None]) -> None:
        self._on_close.append(callback)

    def frame(self, event_type: str, obj: CachedObject) -> bytes:
        """The next event's frame for this watch alone; the first one differs in some views."""
        if self.has_received:
            return self.view.event(event_type, obj)
        self.has_received = True
        return self.view.first_event(event_type, obj)

    def end_mark(self, revision: int) -> bytes:
        """The bookmark that says that the initial events are complete."""
        view, first = self.view, not self.has_received
        self.has_received = True
        bookmark = view.first_bookmark if first else view.bookmark
        return bookmark(revision, initial_events_end=True)

    def write(self, frames: list[bytes]) -> None:
        self.sink.write(Burst(tuple(frames)))

    def end(self, reason: str, status: Mapping[str, Any] | None = None) -> None:
        """Close the stream, after an ERROR event if there is a status. Idempotent."""
        if self.is_closed:
            return
        self.phase = Closed(reason)
        self._closed.open()
        callbacks, self._on_close = self._on_close, []
        for callback in callbacks:
            callback()
        if status is not None:
            self.write([self.view.error(status)])
        self.sink.close()

    def close(self) -> None:
        """The reader is gone."""
        self.end("by its reader")

    async def wait_closed(self) -> None:
        """Wait for the end; the deadline, storage or the reader brings it."""
        await self._closed.wait_open()

    def __repr__(self) -> str:
        match self.phase:
            case Starting(objects=objects, written=written):
                state = f"starting, {written} of {len(objects)} initial events written"
            case Replaying():
                state = "catching up"
            case Parked(until=until):
                state = f"waiting for a revision after {until}"
            case Live():
                state = f"live, started after {self.floor}"
            case Ending(reason=reason):
                state = f"ending: {reason}"
            case Closed(reason=reason):
                state = f"closed: {reason}"
        return f"<Subscriber to {self.selection}: {state}>"


def event_for(transition: Transition, matches: Matches | None) -> tuple[str, CachedObject] | None:
    """What a change means to one selection (spec/server §3.4); None if nothing.

    An object that stops matching is DELETED for this watcher: as it last matched, under the
    revision of the change that took it away.
    """
    old, new = transition.old, transition.new
    was = old is not None and (matches is None or matches(old))
    if new is not None and (matches is None or matches(new)):
        return (MODIFIED if was else ADDED), new
    if was:
        assert old is not None
        return DELETED, transition.deleted(old)
    return None
