"""Whether the other end of a WebSocket is still there, when neither end has anything to say.

A connection whose peer vanished without a word looks like one whose peer is silent. Both ends of a
link that we own on both sides ping each other without waiting for answers, and count as silence
only what they would have heard: an end that does not read, because what it reads has nowhere to go,
learns nothing about the other.
"""

from __future__ import annotations

from typing import Protocol

from proreus.aio.clock import Clock

PING_S = 15.0
MISSED_MAX = 4


class Socket(Protocol):
    """``heard`` counts frames of any kind, ``is_waiting`` says that somebody receives."""

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
