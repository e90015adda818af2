"""TLS handshakes under way: a few steps in each turn of the loop, and not too many at once.

A step costs half a millisecond of CPU or more, before a client is authenticated. Without a bound
per turn, thousands of clients that connect together would hold up all others for seconds.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from proreus.net.tls.transport import TlsTransport

STEPS_PER_TURN = 4
PENDING_MAX = 1024


class Handshakes:
    """Each is either ready for its next step, in line, or waits for its client.

    Of too many that wait for their clients the oldest is dropped: a client that works answers
    within a round trip.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, pending_max: int = PENDING_MAX) -> None:
        self._loop = loop
        self._pending_max = pending_max
        self._ready: deque[TlsTransport] = deque()
        self._waiting: dict[TlsTransport, None] = {}  # the longest first

    @property
    def is_behind(self) -> bool:
        """Whether there is work for this turn already, so that no more should be accepted."""
        return len(self._ready) >= STEPS_PER_TURN

    def ready(self, transport: TlsTransport) -> None:
        """Its ``continue_handshake`` is called soon, once."""
        self._waiting.pop(transport, None)
        self._ready.append(transport)
        if len(self._ready) == 1:
            self._loop.call_soon(self._turn)

    def waits(self, transport: TlsTransport) -> None:
        """Until it is ``ready`` again, or ``over``."""
        self._waiting[transport] = None
        if len(self._waiting) > self._pending_max:
            next(iter(self._waiting)).abort()

    def over(self, transport: TlsTransport) -> None:
        self._waiting.pop(transport, None)

    def _turn(self) -> None:
        for _ in range(min(STEPS_PER_TURN, len(self._ready))):
            self._ready.popleft().continue_handshake()
        if self._ready:
            self._loop.call_soon(self._turn)

    def __repr__(self) -> str:
        return f"<Handshakes: {len(self._ready)} ready, {len(self._waiting)} waiting>"
