"""Whether the other end of a WebSocket is still there, when neither end sends anything.

A connection whose peer vanished looks like one whose peer is idle. Where both ends are ours, they
ping each other without waiting for answers. Only the time in which an end was receiving counts as
silence: one that does not read, because what it reads has nowhere to go, learns nothing about the
other.
"""

from __future__ import annotations

from typing import Protocol

from proreus.aio.clock import Clock

PING_S = 15.0
MISSED_MAX = 4


class Socket(Protocol):
    """``heard`` counts frames of any kind, ``is_waiting`` says that a task receives."""

    @property
    def heard(self) -> int: ...
    @property
    def is_waiting(self) -> bool: ...

    async def ping(self) -> None: ...


async def wait_silent(socket: Socket, clock: Clock) -> None:
    """Ping for ever; return once nothing at all was heard for a minute."""
    missed, seen = 0, socket.heard
    while missed < MISSED_MAX:
        await socket.ping()
        await clock.sleep(PING_S)
        is_silent = socket.is_waiting and socket.heard == seen
        missed, seen = (missed + 1 if is_silent else 0), socket.heard
