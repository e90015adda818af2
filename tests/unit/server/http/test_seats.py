"""How many requests are worked on at once, how users share that, and how long it may take."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proreus.server.fairness.fairness import Fairness
from proreus.server.fairness.flow_schemas import Requested
from proreus.server.fairness.queues import Queuing, TooBusy
from proreus.server.fairness.request_flow import RequestFlow
from proreus.server.http.seats import Limits, Seat, Share
from proreus.server.http.stages.deadline import Deadlines
from proreus.server.registry.user import AUTHENTICATED, User
from proreus.testing.virtual_clock import VirtualClock


@given(total=st.integers(0, 300), takers=st.lists(st.sampled_from("abcdef"), max_size=300))
def test_each_user_leaves_half_of_what_it_finds_to_others(total: int, takers: list[str]) -> None:
    share = Share(total)
    held = Counter(user for user in takers if share.take(user))

    is_given = share.take("newcomer")

    assert share.used == sum(held.values()) + is_given <= total
    assert is_given == (share.used - is_given < total)
    assert is_given or total < 2 ** len(held)


def test_one_user_gets_half_and_two_a_third_each() -> None:
    share = Share(12)

    assert [share.take("a") for _ in range(7)] == [True] * 6 + [False]
    for _ in range(2):
        share.give_back("a")
    assert [share.take("b") for _ in range(5)] == [True] * 4 + [False]
    assert repr(share) == "<Share: 8 of 12, 2 users>"


def exempt_flow(clock: VirtualClock) -> RequestFlow:
    user = User("root", ("system:masters",))
    return Fairness(clock).flow(user, Requested("get", "", "pods", "default"))


def limited_flow(clock: VirtualClock, seats: int) -> RequestFlow:
    flow = Fairness(clock).flow(User("alice", (AUTHENTICATED,)), Requested("get", "", "pods", "a"))
    flow.level.seats.configure(Queuing(queues=1, hand_size=1, length_limit=10))
    flow.level.seats.resize(seats)
    return flow


async def test_a_seat_given_back_while_a_request_waits_serves_others() -> None:
    clock = VirtualClock()
    limits, flow = Limits(clock), limited_flow(clock, 1)
    slow, other = Seat("slow", flow, limits), Seat("other", flow, limits)
    assert slow.take_nowait()

    async with slow.given_back():
        assert other.take_nowait()
        assert (flow.level.seats.in_use, limits.waiting.used) == (1, 1)
        other.leave()

    assert (flow.level.seats.in_use, limits.waiting.used) == (1, 0)
    slow.leave()
    slow.leave()
    assert (flow.level.seats.in_use, limits.working, flow.counts.executing) == (0, [0, 0], 0)


async def test_a_request_that_fails_while_its_seat_is_given_back_holds_nothing() -> None:
    clock = VirtualClock()
    limits, flow = Limits(clock), exempt_flow(clock)
    failing = Seat("failing", flow, limits)
    assert failing.take_nowait()

    with suppress(ValueError):
        async with failing.given_back():
            failing.keep(5)
            raise ValueError
    failing.leave()

    used = (flow.level.seats.in_use, limits.waiting.used, limits.bodies.used)
    assert used == (0, 0, 0)


async def test_who_waits_too_long_for_a_seat_is_turned_away_and_counted() -> None:
    clock = VirtualClock()
    limits, flow = Limits(clock), limited_flow(clock, 0)
    async with asyncio.TaskGroup() as group:

        async def request() -> None:
            with pytest.raises(TooBusy):
                await Seat("alice", flow, limits).take()

        group.create_task(request())
        await asyncio.sleep(0)
        assert (flow.counts.waiting, limits.waiting_by_kind) == (1, [0, 1])
        await clock.advance(16)

    assert (flow.counts.waiting, flow.counts.timed_out) == (0, 1)
    assert flow.level.seats.waiting == 0


async def test_who_leaves_while_it_waits_is_counted_as_cancelled() -> None:
    clock = VirtualClock()
    limits, flow = Limits(clock), limited_flow(clock, 0)
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(Seat("alice", flow, limits).take())
        await asyncio.sleep(0)
        waiting.cancel()

    counts = flow.level.seats.counts
    assert (counts.cancelled, counts.timed_out, flow.counts.waiting) == (1, 0, 0)


def test_bodies_of_one_user_leave_room_for_those_of_others() -> None:
    limits = Limits(VirtualClock(), bodies=Share(100))
    greedy, other = Seat("greedy", None, limits), Seat("other", None, limits)
    greedy.keep(30)
    greedy.keep(20)

    with pytest.raises(TooBusy):
        greedy.keep(1)
    other.keep(25)

    assert limits.bodies.used == 75


async def test_what_takes_too_long_is_cancelled_and_knows_why() -> None:
    clock = VirtualClock()
    deadlines = Deadlines(clock)
    causes: list[bool] = []

    async def request(limit_s: float) -> None:
        entry = deadlines.begin(limit_s)
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            causes.append(deadlines.is_cause(entry))
        finally:
            deadlines.end(entry)

    async with asyncio.TaskGroup() as group:
        look = group.create_task(deadlines.run())
        slow = group.create_task(request(5))
        patient = group.create_task(request(500))
        await asyncio.sleep(0)
        await clock.advance(10)

        assert (slow.done(), patient.done(), causes) == (True, False, [True])
        look.cancel()
        patient.cancel()
