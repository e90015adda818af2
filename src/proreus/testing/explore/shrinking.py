"""The fewest faults that still show a difference, by leaving out one after another."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from proreus.testing.explore.faults import Plan


async def shrunk(plan: Plan, still_fails: Callable[[Plan], Awaitable[bool]]) -> Plan:
    """A plan that fails and no fault of which can be left out."""
    place = 0
    while place < len(plan.faults) and len(plan.faults) > 1:
        smaller = Plan(plan.faults[:place] + plan.faults[place + 1 :])
        if await still_fails(smaller):
            plan = smaller
        else:
            place += 1
    return plan
