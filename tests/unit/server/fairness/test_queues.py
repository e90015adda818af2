"""Seats of a priority level: flows are served fairly, nobody waits without need."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proreus.server.fairness.concurrency import (
    Bounds,
    DemandMeter,
    SeatDemand,
    Shares,
    adjusted,
    bounds,
)
from proreus.server.fairness.queues import LevelSeats, Queuing, Ticket, TooBusy
from proreus.server.fairness.shuffle_sharding import deal, flow_hash
from proreus.testing.virtual_clock import VirtualClock

QUEUES = Queuing(queues=64, hand_size=6, length_limit=50)


def level(limit: int, queuing: Queuing = QUEUES, clock: VirtualClock | None = None) -> LevelSeats:
    return LevelSeats("test", limit, queuing, (clock or VirtualClock()).monotonic)


async def wait(seats: LevelSeats, flow: str, width: int = 1) -> Ticket:
    return await seats.take("schema", flow, flow_hash("schema", flow), width)


@given(value=st.integers(0, 2**128 - 1), queues=st.integers(1, 200), hand=st.integers(1, 10))
def test_a_hand_has_different_queues(value: int, queues: int, hand: int) -> None:
    dealt = deal(value, queues, hand)

    assert len(set(dealt)) == len(dealt) == min(hand, queues)
    assert all(0 <= index < queues for index in dealt)


async def test_a_flow_with_one_request_is_served_before_another_s_hundredth() -> None:
    clock = VirtualClock()
    seats = level(1, clock=clock)
    first = seats.take_nowait("schema", "flood", 1)
    assert first is not None
    order: list[str] = []

    async def request(flow: str) -> None:
        ticket = await wait(seats, flow)
        order.append(flow)
        await clock.advance(0.01)
        seats.give_back(ticket)

    async with asyncio.TaskGroup() as group:
        for _ in range(40):
            group.create_task(request("flood"))
        await asyncio.sleep(0)
        for name in ("one", "two"):
            group.create_task(request(name))
        await asyncio.sleep(0)
        seats.give_back(first)

    assert {"one", "two"} <= set(order[:10])  # the flood has six queues, as any flow
    assert (seats.in_use, seats.waiting, list(seats.queues())) == (0, 0, [])


async def test_two_floods_are_served_in_turn_by_what_they_use() -> None:
    clock = VirtualClock()
    seats = level(4, clock=clock)
    hold = [seats.take_nowait("schema", "first", 1) for _ in range(4)]
    served: Counter[str] = Counter()
    is_measuring = True

    async def request(flow: str, width: int) -> None:
        ticket = await wait(seats, flow, width)
        if is_measuring:
            served[flow] += width
        await clock.sleep(0.01)
        seats.give_back(ticket)

    async with asyncio.TaskGroup() as group:
        for _ in range(50):
            group.create_task(request("narrow", 1))
        for _ in range(50):
            group.create_task(request("wide", 2))
        await asyncio.sleep(0)
        for ticket in hold:
            assert ticket is not None
            seats.give_back(ticket)
        for _ in range(20):
            await clock.advance(0.01)
        is_measuring = False
        for _ in range(80):
            await clock.advance(0.01)

    assert abs(served["narrow"] - served["wide"]) <= 8
    assert seats.in_use == 0


async def test_a_full_queue_turns_away_and_other_flows_still_wait() -> None:
    seats = level(1, Queuing(queues=64, hand_size=1, length_limit=2))
    holding = seats.take_nowait("schema", "a", 1)
    assert holding is not None
    async with asyncio.TaskGroup() as group:
        waiting = [group.create_task(wait(seats, "flood")) for _ in range(2)]
        await asyncio.sleep(0)

        with pytest.raises(TooBusy):
            await wait(seats, "flood")
        other = group.create_task(wait(seats, "other"))
        await asyncio.sleep(0)
        assert seats.waiting == 3
        assert seats.counts.rejected == 1
        for task in (*waiting, other):
            task.cancel()
    assert seats.waiting == 0


async def test_a_level_without_queues_turns_away_what_finds_no_seat() -> None:
    seats = level(1, Queuing())
    assert seats.take_nowait("schema", "a", 1)

    with pytest.raises(TooBusy):
        await wait(seats, "a")


async def test_a_request_wider_than_the_level_runs_alone() -> None:
    seats = level(3)
    wide = seats.take_nowait("schema", "a", 10)
    assert wide is not None
    assert seats.take_nowait("schema", "b", 1) is None

    seats.give_back(wide)

    narrow = seats.take_nowait("schema", "b", 1)
    assert narrow is not None
    assert seats.take_nowait("schema", "a", 10) is None


@pytest.mark.parametrize("is_cancelled_first", [True, False])
async def test_a_seat_for_someone_who_just_left_is_given_on(is_cancelled_first: bool) -> None:
    seats = level(1)
    holding = seats.take_nowait("schema", "a", 1)
    assert holding is not None
    async with asyncio.TaskGroup() as group:
        gone = group.create_task(wait(seats, "b"))
        await asyncio.sleep(0)
        patient = group.create_task(wait(seats, "b"))
        await asyncio.sleep(0)
        if is_cancelled_first:
            gone.cancel()
            seats.give_back(holding)
        else:
            seats.give_back(holding)
            gone.cancel()

    assert (seats.in_use, seats.waiting) == (1, 0)
    seats.give_back(patient.result())
    assert seats.in_use == 0


@given(
    moves=st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 5), st.booleans()), max_size=60)
)
async def test_nobody_waits_while_there_is_room(moves: list[tuple[str, int, bool]]) -> None:
    seats = level(4)
    held: list[Ticket] = []
    tasks: list[asyncio.Task[Ticket]] = []
    for flow, width, gives_back in moves:
        if gives_back and held:
            seats.give_back(held.pop(0))
        else:
            tasks.append(asyncio.create_task(wait(seats, flow, width)))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        held += [task.result() for task in tasks if task.done()]
        tasks = [task for task in tasks if not task.done()]

        assert seats.in_use == sum(ticket.width for ticket in held)
        assert seats.in_use <= max(4, *[ticket.width for ticket in held], 0)
        assert seats.waiting == len(tasks)
        assert not tasks or seats.in_use > 0
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert seats.waiting == 0


def test_seats_are_divided_by_shares() -> None:
    found = bounds(
        {"a": Shares(30, 50, None), "b": Shares(10, 0, 20), "e": Shares(0, 0, None)}, 600
    )

    assert found == {
        "a": Bounds(450, 225, 1050),
        "b": Bounds(150, 150, 180),
        "e": Bounds(0, 0, 600),
    }


def test_a_busy_level_borrows_what_an_idle_one_lends() -> None:
    limits = {"idle": Bounds(100, 10, 700), "busy": Bounds(100, 100, 700)}
    demands = {"idle": SeatDemand(0, 0.0), "busy": SeatDemand(500, 500.0)}

    assert adjusted(limits, demands, 200) == {"idle": 10, "busy": 190}
    quiet = {"idle": SeatDemand(100, 100.0), "busy": SeatDemand(100, 100.0)}
    assert adjusted(limits, quiet, 200) == {"idle": 100, "busy": 100}


def test_demand_rises_at_once_and_falls_slowly() -> None:
    meter = DemandMeter()
    meter.add(10, 1.0)
    first = meter.close()
    meter.add(0, 10.0)
    second = meter.close()

    assert (first.highest, first.smooth) == (10, 10.0)
    assert second.highest == 0
    assert 9 < second.smooth < 10
