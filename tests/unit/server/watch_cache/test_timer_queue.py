"""One timer for all calls."""

from __future__ import annotations

from functools import partial

from proreus.server.watch_cache.timer_queue import TimerQueue
from proreus.testing.virtual_clock import VirtualClock


async def test_calls_are_kept_in_order_behind_one_timer() -> None:
    clock = VirtualClock()
    timers, kept = TimerQueue(clock), list[str]()

    def keep(name: str) -> None:
        kept.append(f"{name}@{clock.monotonic():g}")

    for name, due_s in (("c", 3.0), ("a", 1.0), ("b", 2.0)):
        timers.at(due_s, partial(keep, name))

    assert clock.timer_count == 1
    await clock.advance(2.5)

    assert kept == ["a@1", "b@2"]
    assert repr(timers) == "<TimerQueue of 1 calls>"


async def test_grained_calls_come_due_together() -> None:
    clock = VirtualClock()
    timers, kept = TimerQueue(clock), list[float]()
    for n in range(100):
        timers.at(10 + n / 100, lambda: kept.append(clock.monotonic()), grain_s=1.0)

    await clock.advance(12)

    assert kept == [10.0] + [11.0] * 99


async def test_cancelled_calls_are_forgotten() -> None:
    clock = VirtualClock()
    timers, kept = TimerQueue(clock), list[int]()
    entries = [timers.at(3600, lambda: kept.append(1)) for _ in range(1000)]

    for entry in entries:
        entry.cancel()
        entry.cancel()

    assert repr(timers) == "<TimerQueue of 0 calls>"
    assert clock.timer_count == 0
    await clock.advance(4000)
    assert kept == []


async def test_an_appointment_may_make_the_next() -> None:
    clock = VirtualClock()
    timers, kept = TimerQueue(clock), list[float]()

    def again() -> None:
        kept.append(clock.monotonic())
        timers.at(clock.monotonic() + 10, again)

    timers.at(10, again)
    await clock.advance(35)

    assert kept == [10, 20, 30]


async def test_one_that_is_overdue_is_kept_at_once() -> None:
    clock = VirtualClock()
    timers, kept = TimerQueue(clock), list[int]()

    timers.at(-5, lambda: kept.append(1))
    await clock.advance(0)

    assert kept == [1]
