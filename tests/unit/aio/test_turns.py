"""Turns: long computations share the loop with everything else."""

from __future__ import annotations

import asyncio

from proreus.aio.turns import FLOW, Turns


async def test_one_slice_runs_per_iteration_of_the_loop_however_many_wait() -> None:
    turns, loop = Turns(), asyncio.get_running_loop()
    iterations, slices = 0, list[tuple[str, int]]()

    def count() -> None:
        nonlocal iterations
        iterations += 1
        loop.call_soon(count)

    async def compute(name: str) -> None:
        for _ in range(3):
            await turns.wait()
            slices.append((name, iterations))

    loop.call_soon(count)
    async with asyncio.TaskGroup() as group:
        for name in "abc":
            group.create_task(compute(name))

    assert [name for name, _ in slices] == ["a", "b", "c"] * 3
    moments = [at for _, at in slices]
    assert len(set(moments)) == len(moments), "two slices ran in one iteration"


async def test_a_task_that_gives_up_holds_nobody_up() -> None:
    turns = Turns()
    gone = asyncio.ensure_future(turns.wait())
    kept = asyncio.ensure_future(turns.wait())
    await asyncio.sleep(0)
    gone.cancel()

    await kept

    assert gone.cancelled()
    assert repr(turns) == "<Turns: 0 waiting in 0 flows>"


async def test_a_flow_with_many_computations_has_as_many_turns_as_one_with_a_single_one() -> None:
    turns, slices = Turns(), list[str]()

    async def compute(flow: str, count: int) -> None:
        FLOW.set(flow)
        for _ in range(count):
            await turns.wait()
            slices.append(flow)

    async with asyncio.TaskGroup() as group:
        for _ in range(20):
            group.create_task(compute("many", 5))
        group.create_task(compute("one", 5))

    assert slices[:10] == ["many", "one"] * 5
    assert slices[10:] == ["many"] * 95


async def test_a_flow_that_gives_up_leaves_its_turns_to_others() -> None:
    turns, slices = Turns(), list[str]()

    async def compute(flow: str) -> None:
        FLOW.set(flow)
        await turns.wait()
        slices.append(flow)

    gone = [asyncio.ensure_future(compute("gone")) for _ in range(3)]
    kept = [asyncio.ensure_future(compute(flow)) for flow in ("a", "b", "a")]
    await asyncio.sleep(0)
    for task in gone:
        task.cancel()
    await asyncio.wait([*gone, *kept])

    assert slices == ["a", "b", "a"]
