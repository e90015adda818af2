"""How many requests of a client are under way at once, so that it opens no more connections.

Receives: requests, from ``rest.client``, before they have a connection.
A TLS handshake costs both sides as much as ten requests, so a client that speaks for one of many
nodes had rather wait for a connection that is in use. It does not wait for ever: a request that is
slow, as one that a webhook holds up, must not keep a heartbeat from being sent.
"""

from __future__ import annotations

import asyncio
from collections import deque

from proreus.aio.clock import Clock, deadline

PATIENCE_S = 1.0


class RequestSlots:
    """``async with`` it around an exchange. At most ``limit`` at once, but for those that have
    waited ``PATIENCE_S``; who waited longest is next."""

    def __init__(self, limit: int, clock: Clock) -> None:
        self._limit = limit
        self._clock = clock
        self._used = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def __aenter__(self) -> None:
        if self._used < self._limit or not await self._handed_over():
            self._used += 1

    async def __aexit__(self, *exc: object) -> None:
        self._free()

    async def _handed_over(self) -> bool:
        """Whether somebody left a slot to this one, before its patience ended."""
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            async with deadline(self._clock, PATIENCE_S):
                await turn
        except TimeoutError:
            return turn.done() and not turn.cancelled()
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._free()
            raise
        return True

    def _free(self) -> None:
        """A slot is handed to who waits: nobody who comes later can take it first."""
        while self._waiting and self._used <= self._limit:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self._used -= 1

    def __repr__(self) -> str:
        return f"<RequestSlots: {self._used} of {self._limit} used>"
