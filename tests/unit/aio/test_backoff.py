"""Growing, jittered, capped delays."""

from __future__ import annotations

import random

from proreus.aio.backoff import Backoff
from proreus.testing.virtual_clock import VirtualClock


def backoff(clock: VirtualClock, jitter: float = 0.0) -> Backoff:
    return Backoff(clock, initial_s=1, cap_s=8, jitter=jitter, random=random.Random(7))


def test_delays_double_up_to_the_cap() -> None:
    delays = backoff(VirtualClock())

    assert [delays.next() for _ in range(6)] == [1, 2, 4, 8, 8, 8]


def test_jitter_stays_within_its_share() -> None:
    delays = backoff(VirtualClock(), jitter=0.5)

    for base in (1, 2, 4, 8, 8):
        assert base <= delays.next() < base * 1.5


async def test_a_stretch_of_health_starts_the_delays_over() -> None:
    clock = VirtualClock()
    delays = backoff(clock)
    delays.next()
    delays.next()

    await clock.advance(200)

    assert delays.next() == 1


async def test_an_outage_longer_than_the_reset_time_does_not_start_the_delays_over() -> None:
    clock = VirtualClock()
    delays = Backoff(clock, initial_s=100, cap_s=1000, jitter=0, reset_after_s=120)
    first = delays.next()

    await clock.advance(first + 1)

    assert delays.next() == 200


def test_reset_forgets_the_failures() -> None:
    delays = backoff(VirtualClock())
    delays.next()
    delays.next()

    delays.reset()

    assert delays.next() == 1
