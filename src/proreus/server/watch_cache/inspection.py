"""A cache, its watchers and its recent changes as people look at them: pure reading.

Nothing is recorded for it but what a flush costs: when it was, and how many frames each group of
watchers had. Read by ``server/http/debug``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from proreus.lazy_dataclass import dataclass
from proreus.server.watch_cache.fan_out import FanOut
from proreus.server.watch_cache.history import Transition
from proreus.server.watch_cache.phase import Closed, Ending, Live, Parked, Replaying, Starting
from proreus.server.watch_cache.state import CacheState
from proreus.server.watch_cache.subscriber import Subscriber


@dataclass(frozen=True, slots=True)
class CacheInspection:
    """``since_event_s`` None: no change is remembered."""

    objects: int
    oldest_revision: int
    window_events: int
    window_capacity: int
    since_event_s: float | None


@dataclass(frozen=True, slots=True)
class WatcherInspection:
    """``position``: the revision up to which it was given every event. ``behind``: events and
    objects it has to be tested for or given; ``waiting``: frames that the next flush gives it."""

    phase: str
    position: int
    behind: int
    waiting: int
    buffered_bytes: int
    sent: int


@dataclass(frozen=True, slots=True)
class ChangeInspection:
    """``delivered_s`` None: no live watcher was concerned, or it is too long ago."""

    transition: Transition
    ingested_s: float
    delivered_s: float | None


def inspect_cache(state: CacheState, now_s: float) -> CacheInspection:
    newest = next(state.history.newest_first(), None)
    return CacheInspection(
        objects=len(state.snapshot),
        oldest_revision=state.history.complete_after,
        window_events=len(state.history),
        window_capacity=state.history.capacity,
        since_event_s=now_s - newest.at_s if newest is not None else None,
    )


def inspect_watcher(
    state: CacheState, fan_out: FanOut, subscriber: Subscriber, revision: int
) -> WatcherInspection:
    history, waiting = state.history, fan_out.frames_waiting(subscriber)
    match subscriber.phase:
        case Starting(objects=objects, done=done, position=position):
            reached, behind = 0, len(objects) - done + history.end - position
        case Replaying(position=position):
            reached = max(subscriber.floor, history.revision_before(position))
            behind = history.end - position
        case Live():
            reached, behind = revision, waiting
        case Parked() | Ending() | Closed():
            reached, behind = subscriber.floor, 0
        case other:
            assert_never(other)
    return WatcherInspection(
        phase=str(subscriber.phase),
        position=reached,
        behind=behind,
        waiting=waiting,
        buffered_bytes=subscriber.sink.buffered,
        sent=fan_out.frames_sent(subscriber),
    )


def recent_changes(state: CacheState, fan_out: FanOut) -> Iterator[ChangeInspection]:
    for transition in state.history.newest_first():
        delivered_s = fan_out.flushes.at(transition.revision) if transition.has_readers else None
        yield ChangeInspection(transition, transition.at_s, delivered_s)
