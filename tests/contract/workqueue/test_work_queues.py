"""What every work queue promises, whatever it adds: one suite for all three."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proreus.client.workqueue import DelayingQueue, QueueShutDown, RateLimitedQueue, WorkQueue
from proreus.testing.virtual_clock import VirtualClock

MakeQueue = Callable[[VirtualClock], WorkQueue[str]]
QUEUES: list[MakeQueue] = [
    lambda clock: WorkQueue("q", clock=clock),
    lambda clock: DelayingQueue("q", clock=clock),
    lambda clock: RateLimitedQueue("q", clock=clock),
]


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture(params=QUEUES, ids=["plain", "delaying", "rate limited"])
def queue(request: pytest.FixtureRequest, clock: VirtualClock) -> WorkQueue[str]:
    make: MakeQueue = request.param
    return make(clock)


async def test_items_come_out_once_and_in_the_order_they_were_added(queue: WorkQueue[str]) -> None:
    for item in "abca":
        queue.add(item)

    assert [await queue.get() for _ in range(3)] == ["a", "b", "c"]
    assert len(queue) == 0


async def test_adds_while_an_item_is_in_work_become_exactly_one_more_run(
    queue: WorkQueue[str],
) -> None:
    """client.md §14 case 36: never concurrently, and not three times."""
    queue.add("a")
    item = await queue.get()
    for _ in range(3):
        queue.add("a")
    waiting_meanwhile = len(queue)

    queue.done(item)

    assert waiting_meanwhile == 0
    assert await queue.get() == "a"
    queue.done("a")
    assert queue.is_idle


async def test_a_waiting_worker_is_woken_by_an_add(queue: WorkQueue[str]) -> None:
    worker = asyncio.ensure_future(queue.get())
    await asyncio.sleep(0)

    queue.add("a")

    assert await worker == "a"


async def test_a_cancelled_worker_passes_its_wake_up_on(queue: WorkQueue[str]) -> None:
    first, second = (asyncio.ensure_future(queue.get()) for _ in range(2))
    await asyncio.sleep(0)

    queue.add("a")
    first.cancel()

    assert await second == "a"


async def test_after_shutdown_workers_finish_what_waits_and_adds_are_ignored(
    queue: WorkQueue[str],
) -> None:
    queue.add("a")
    idle = asyncio.ensure_future(queue.get())
    assert await idle == "a"
    waiting = asyncio.ensure_future(queue.get())
    queue.add("b")
    await asyncio.sleep(0)

    queue.shut_down()
    queue.add("c")

    assert await waiting == "b"
    with pytest.raises(QueueShutDown):
        await queue.get()
    assert repr(queue).endswith("shutting down, 0 waiting, 2 in work>")


async def test_shutdown_wakes_workers_that_have_nothing_to_do(queue: WorkQueue[str]) -> None:
    workers = [asyncio.ensure_future(queue.get()) for _ in range(3)]
    await asyncio.sleep(0)

    queue.shut_down()

    ends = await asyncio.gather(*workers, return_exceptions=True)
    assert all(isinstance(end, QueueShutDown) for end in ends)


async def test_draining_waits_for_what_waits_and_for_what_is_in_work(queue: WorkQueue[str]) -> None:
    queue.add("a")
    queue.add("b")
    await queue.get()
    draining = asyncio.ensure_future(queue.drain())
    await asyncio.sleep(0)
    queue.add("too late")
    with_both = draining.done()
    queue.done("a")
    await asyncio.sleep(0)
    with_one = draining.done()
    queue.done(await queue.get())
    async with asyncio.timeout(60):
        await draining

        assert (with_both, with_one) == (False, False)
        with pytest.raises(QueueShutDown):
            await queue.get()


async def test_statistics_are_kubernetes_workqueue_metrics(
    queue: WorkQueue[str], clock: VirtualClock
) -> None:
    queue.add("a")
    queue.add("b")
    queue.add("c")
    await clock.advance(2)
    await queue.get()
    await queue.get()
    await clock.advance(3)
    queue.done("a")

    seen = queue.statistics()

    assert (seen.name, seen.depth, seen.adds_total, seen.retries_total) == ("q", 1, 3, 0)
    assert (seen.queue_duration.count, seen.queue_duration.sum_s) == (2, 4)
    assert (seen.work_duration.count, seen.work_duration.sum_s) == (1, 3)
    assert (seen.unfinished_work_s, seen.longest_running_s) == (3, 3)
    assert sum(seen.queue_duration.per_bucket) == 2


@given(st.lists(st.tuples(st.sampled_from(["add", "get", "done"]), st.sampled_from("abc"))))
def test_an_item_is_never_with_two_workers_and_never_forgotten(
    steps: list[tuple[str, str]],
) -> None:
    async def play() -> None:
        queue: WorkQueue[str] = WorkQueue(clock=VirtualClock())
        in_work: set[str] = set()
        owed: set[str] = set()  # added and not handed out since
        for verb, item in steps:
            if verb == "add":
                queue.add(item)
                owed.add(item)
            elif verb == "get" and len(queue):
                got = await queue.get()
                assert got not in in_work and got in owed
                in_work.add(got)
                owed.remove(got)
            elif verb == "done" and item in in_work:
                in_work.remove(item)
                queue.done(item)
            assert len(queue) == len(owed - in_work)

    asyncio.run(play())


async def test_a_higher_priority_goes_first_and_a_lower_one_never_delays(
    queue: WorkQueue[str],
) -> None:
    queue.add("low", priority=-100)
    queue.add("usual")
    queue.add("raised", priority=-100)
    queue.add("urgent", priority=10)
    queue.add("usual 2")
    queue.add("raised")
    queue.add("usual", priority=-100)

    assert len(queue) == 5
    taken = [await queue.get() for _ in range(5)]

    assert taken == ["urgent", "usual", "usual 2", "raised", "low"]
    assert len(queue) == 0


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from([-5, 0, 5]), st.booleans())))
async def test_with_priorities_too_no_item_is_lost_or_worked_on_twice_at_once(
    steps: list[tuple[str, int, bool]],
) -> None:
    queue: WorkQueue[str] = WorkQueue("q", clock=VirtualClock())
    wanted: dict[str, int] = {}  # what must still come out, by its highest priority
    in_work: list[str] = []
    for item, priority, takes in steps:
        queue.add(item, priority=priority)
        wanted[item] = max(priority, wanted.get(item, priority))
        if takes and len(queue):
            taken = await queue.get()
            ready = {one: given for one, given in wanted.items() if one not in in_work}
            assert ready[taken] == max(ready.values())
            del wanted[taken]
            in_work.append(taken)
        elif in_work:
            queue.done(in_work.pop(0))
    while in_work:
        queue.done(in_work.pop())
    rest = set[str]()
    while len(queue):
        rest.add(taken := await queue.get())
        queue.done(taken)

    assert rest == set(wanted) and queue.is_idle
