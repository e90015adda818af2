"""Sharing the event loop among computations that are too long for one iteration of it.

Work is cut into slices of at most a millisecond, and before each slice its task waits for a turn.
One turn is granted per iteration of the loop. So however many such computations run, everything
else that is ready runs between two slices of them.

Flows (``FLOW``: the user whose work a task does) take turns at it, and within a flow tasks do, in
the order of asking. So one user's hundred lists delay another's list no more than one would.
"""

from __future__ import annotations

import asyncio
from collections import deque
from contextvars import ContextVar

# Of the task that asks for turns; work that nobody asked for has none.
FLOW = ContextVar("FLOW", default="")


class Turns:
    """Belongs to one event loop: the one that ``wait`` is first called on."""

    __slots__ = ("_flows", "_is_granting")

    def __init__(self) -> None:
        # The flows that wait, the next one first; none is empty.
        self._flows: dict[str, deque[asyncio.Future[None]]] = {}
        self._is_granting = False

    async def wait(self) -> None:
        """Until the next slice may run. At least one iteration of the loop passes.

        Needs no deadline: the task granted a turn before runs one slice.
        """
        if not self._is_granting:
            await self._take_next()
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        flow = FLOW.get()
        if (waiting := self._flows.get(flow)) is None:
            self._flows[flow] = deque((turn,))
        else:
            waiting.append(turn)
        await turn

    async def _take_next(self) -> None:
        """Nobody waits: the next iteration's turn is the caller's, and others' are behind it."""
        self._is_granting = True
        try:
            await asyncio.sleep(0)
        finally:
            if self._flows:
                if (waiting := self._flows.pop(flow := FLOW.get(), None)) is not None:
                    self._flows[flow] = waiting  # it had its turn
                asyncio.get_running_loop().call_soon(self._grant)
            else:
                self._is_granting = False

    @property
    def is_awaited(self) -> bool:
        """Whether anybody waits for the next turn."""
        return bool(self._flows)

    def _grant(self) -> None:
        while self._flows:
            turn = self._next()
            if not turn.done():  # cancelled: its task gave up
                turn.set_result(None)
                break
        if self._flows:
            asyncio.get_running_loop().call_soon(self._grant)
        else:
            self._is_granting = False

    def _next(self) -> asyncio.Future[None]:
        """The first of the first flow, which becomes the last flow."""
        flow = next(iter(self._flows))
        waiting = self._flows.pop(flow)
        turn = waiting.popleft()
        if waiting:
            self._flows[flow] = waiting
        return turn

    def __repr__(self) -> str:
        waiting = sum(map(len, self._flows.values()))
        return f"<Turns: {waiting} waiting in {len(self._flows)} flows>"
