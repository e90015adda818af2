"""Items for later: one waiting time each, the earliest."""

from __future__ import annotations

import pytest

from proreus.client.workqueue import DelayingQueue
from proreus.testing.virtual_clock import VirtualClock


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def queue(clock: VirtualClock) -> DelayingQueue[str]:
    return DelayingQueue(clock=clock)


async def take(queue: DelayingQueue[str]) -> list[str]:
    """Take out and finish everything that is due."""
    taken = []
    while len(queue):
        taken.append(await queue.get())
        queue.done(taken[-1])
    return taken


async def test_the_earliest_time_wins_and_an_add_now_is_one_more_run(
    queue: DelayingQueue[str], clock: VirtualClock
) -> None:
    """client.md §14 case 37: now, once at 1 s, and not at 10 s."""
    queue.add_after("k", 10)
    queue.add_after("k", 1)
    queue.add("k")

    now = await take(queue)
    await clock.advance(1)
    after_1_s = await take(queue)
    await clock.advance(20)
    later = await take(queue)

    assert (now, after_1_s, later) == (["k"], ["k"], [])


async def test_a_later_time_does_not_replace_an_earlier_one(
    queue: DelayingQueue[str], clock: VirtualClock
) -> None:
    queue.add_after("k", 1)
    queue.add_after("k", 10)

    await clock.advance(1)

    assert await take(queue) == ["k"]
    assert queue.waiting_count == 0


async def test_items_become_due_in_the_order_of_their_times(
    queue: DelayingQueue[str], clock: VirtualClock
) -> None:
    for item, delay_s in (("c", 3), ("a", 1), ("b", 2)):
        queue.add_after(item, delay_s)

    await clock.advance(5)

    assert await take(queue) == ["a", "b", "c"]


async def test_no_delay_means_now(queue: DelayingQueue[str]) -> None:
    queue.add_after("a", 0)
    queue.add_after("b", -1)

    assert await take(queue) == ["a", "b"]
    assert queue.statistics().retries_total == 2


async def test_what_is_not_due_is_lost_at_shutdown_and_leaves_no_timer(
    queue: DelayingQueue[str], clock: VirtualClock
) -> None:
    queue.add_after("a", 1)

    queue.shut_down()
    queue.add_after("b", 1)
    await clock.advance(5)

    assert await take(queue) == []
    assert clock.timer_count == 0


async def test_odd_delays_neither_spin_nor_get_lost(
    queue: DelayingQueue[str], clock: VirtualClock
) -> None:
    for n in range(50):
        queue.add_after(f"k{n}", 0.1 * n + 1 / 3)

    await clock.advance(6)

    assert len(await take(queue)) == 50
