"""Sharing the event loop among computations that are too long for one iteration of it.

Work is cut into slices of some milliseconds, and before each slice its task waits for a turn. One
turn is granted per iteration of the loop, in the order of asking. So however many such computations
run, everything else that is ready runs between two slices of them.
"""

from __future__ import annotations

import asyncio
from collections import deque


class Turns:
    """Belongs to one event loop: the one that ``wait`` is first called on."""

    __slots__ = ("_is_granting", "_waiting")

    def __init__(self) -> None:
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._is_granting = False

    async def wait(self) -> None:
        """Until the next slice may run. At least one iteration of the loop passes.

        Needs no deadline: the task granted a turn before runs one slice.
        """
        loop = asyncio.get_running_loop()
        turn: asyncio.Future[None] = loop.create_future()
        self._waiting.append(turn)
        if not self._is_granting:
            self._is_granting = True
            loop.call_soon(self._grant)
        await turn

    def _grant(self) -> None:
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():  # cancelled: its task gave up
                turn.set_result(None)
                break
        if self._waiting:
            asyncio.get_running_loop().call_soon(self._grant)
        else:
            self._is_granting = False

    def __repr__(self) -> str:
        return f"<Turns: {len(self._waiting)} waiting>"
