"""One watch: what it selects, how far it is, where its frames go (Kubernetes: cacheWatcher).

Receives: Transition, from ``fan_out`` when live, from ``catch_up`` before.
Hands on: Burst, to its sink.
Invariant: a transition after ``floor`` that concerns it is written once, in order, or the watch is
closed. Nothing is stored per watcher and event: before it is live it reads history by position.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from proreus.aio.gate import Gate
from proreus.server.watch_cache.history import Transition
from proreus.server.watch_cache.object import CachedObject
from proreus.server.watch_cache.phase import NEXT, Closed, Phase
from proreus.server.watch_cache.query import Selection
from proreus.server.watch_cache.selecting import Matches, matcher
from proreus.server.watch_cache.timer_queue import TimerEntry
from proreus.server.watch_cache.view import ADDED, DELETED, MODIFIED, Burst, Frame, Sink, View


class Subscriber:
    """``floor``: only changes and bookmarks after it are for this watch (server.md §4.11)."""

    __slots__ = (
        "_closed", "_on_close", "_phase", "bookmarks", "deadline_s", "floor", "has_received",
        "matches", "next_bookmark", "selection", "sent", "sink", "view",
    )  # fmt: skip

    def __init__(
        self,
        selection: Selection,
        view: View,
        sink: Sink,
        first_phase: Phase,
        *,
        floor: int = 0,
        bookmarks: bool = False,
    ) -> None:
        self.selection = selection
        self.matches: Matches | None = matcher(selection)
        self.view = view
        self.sink = sink
        self.bookmarks = bookmarks
        self.floor = floor
        self.deadline_s: float | None = None
        self.next_bookmark: TimerEntry | None = None
        self._phase = first_phase
        # Frames written before it was live; while it is, less those that its group had before it
        # (``FanOut.frames_sent``).
        self.sent = 0
        self.has_received = False
        self._closed = Gate()
        self._on_close: list[Callable[[], None]] = []

    @property
    def phase(self) -> Phase:
        return self._phase

    def enter(self, phase: Phase) -> None:
        """For ``WatcherPhases.move`` and ``end`` alone: who moves it also registers it anew."""
        assert type(phase) in NEXT[type(self._phase)], f"{self} cannot become {phase}"
        self._phase = phase

    @property
    def is_closed(self) -> bool:
        return self._closed.is_open

    def when_closed(self, callback: Callable[[], None]) -> None:
        self._on_close.append(callback)

    def frame(self, event_type: str, obj: CachedObject) -> Frame:
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

    def write(self, frames: list[Frame]) -> None:
        self.sink.write(Burst(tuple(frames)))
        self.sent += len(frames)

    def end(self, reason: str, status: Mapping[str, Any] | None = None) -> None:
        """Close the stream, after an ERROR event if there is a status. Idempotent."""
        if self.is_closed:
            return
        self.enter(Closed(reason))
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
        return f"<Subscriber to {self.selection}: {self._phase}>"


def event_for(transition: Transition, matches: Matches | None) -> tuple[str, CachedObject] | None:
    """What a change means to one selection (server.md §3.4); None if nothing.

    An object that stops matching is DELETED for this watcher: as it last matched, under the
    revision of the change that took it away.
    """
    old, new = transition.old, transition.new
    if transition.is_alike and new is not None:
        return (MODIFIED, new) if matches is None or matches(new) else None
    was = old is not None and (matches is None or matches(old))
    if new is not None and (matches is None or matches(new)):
        return (MODIFIED if was else ADDED), new
    if was:
        assert old is not None
        return DELETED, transition.deleted(old)
    return None
