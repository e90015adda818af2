"""Waiting for a condition."""

from __future__ import annotations

import asyncio

from proreus.aio.gate import Gate, Waterline


async def test_a_gate_lets_through_while_it_is_open() -> None:
    gate = Gate()
    passing = asyncio.ensure_future(gate.wait_open())
    await asyncio.sleep(0)
    assert not passing.done()

    gate.open()
    await passing
    gate.shut()

    assert repr(gate) == "<Gate shut>"


async def test_a_waterline_frees_those_it_has_reached_and_no_others() -> None:
    line = Waterline(3)
    near = asyncio.ensure_future(line.wait_for(5))
    far = asyncio.ensure_future(line.wait_for(9))
    await line.wait_for(3)
    await asyncio.sleep(0)

    line.rise_to(6)
    await near

    assert repr(line) == "<Waterline at 6, 1 waiting>"
    line.rise_to(4)
    assert line.level == 6
    line.rise_to(9)
    await far


async def test_a_waiter_that_gave_up_is_not_counted() -> None:
    line = Waterline()
    waiting = asyncio.ensure_future(line.wait_for(5))
    await asyncio.sleep(0)

    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)

    assert line.waiter_count == 0
    line.rise_to(5)
