"""A client's connections: those that are used, and those that wait for their next request."""

from __future__ import annotations

import asyncio

from proreus.net.client.connection import ClientConnection
from proreus.net.client.dialing import Dialer
from proreus.net.client.server_address import Origin
from proreus.net.client.transport_error import ConnectionLost

# Less than servers wait (ours three minutes), so that a request seldom meets one that is closed.
_IDLE_MAX_S = 90.0

CLOSED = "the client was closed"


class Pool:
    """Each is used by one caller, who gives it back or drops it."""

    def __init__(self, dialer: Dialer) -> None:
        self._dialer = dialer
        self._loop = asyncio.get_running_loop()
        self._idle: dict[Origin, list[tuple[ClientConnection, float]]] = {}  # the oldest first
        self._used: dict[ClientConnection, Origin] = {}
        self._sweep: asyncio.TimerHandle | None = None
        self._is_closed = False

    def take_idle(self, origin: Origin) -> ClientConnection | None:
        """The one that was used last. A loop that stood still has not closed those that waited
        too long, nor seen that their server did."""
        waiting = self._idle.get(origin)
        while waiting:
            connection, since = waiting.pop()
            if connection.is_idle and self._loop.time() - since < _IDLE_MAX_S:
                self._used[connection] = origin
                return connection
            connection.close()
        return None

    async def take_new(self, origin: Origin, url: str) -> ClientConnection:
        """Raises TransportError."""
        self._check_open(url)
        connection = await self._dialer.dial(origin, url)
        try:
            self._check_open(url)
        except ConnectionLost:
            connection.close()
            raise
        self._used[connection] = origin
        return connection

    def give_back(self, connection: ClientConnection) -> None:
        """Kept if it may carry another request, else dropped."""
        origin = self._used.pop(connection, None)
        if origin is None:
            return
        if self._is_closed or not connection.is_reusable:
            connection.abort()
            return
        self._idle.setdefault(origin, []).append((connection, self._loop.time()))
        if self._sweep is None:
            self._sweep = self._loop.call_later(_IDLE_MAX_S, self._close_idle)

    def close(self) -> None:
        """Whoever uses one learns it by a ConnectionLost."""
        self._is_closed = True
        if self._sweep is not None:
            self._sweep.cancel()
        for waiting in self._idle.values():
            for connection, _ in waiting:
                connection.close()
        self._idle.clear()
        for connection in list(self._used):
            connection.abort()
        self._used.clear()

    def _close_idle(self) -> None:
        """Those that have waited too long; none waits twice as long."""
        self._sweep = None
        now_s = self._loop.time()
        for origin, waiting in list(self._idle.items()):
            while waiting and now_s - waiting[0][1] >= _IDLE_MAX_S:
                waiting.pop(0)[0].close()
            if not waiting:
                del self._idle[origin]
        if self._idle:
            oldest_s = min(waiting[0][1] for waiting in self._idle.values())
            due_s = max(0.0, oldest_s + _IDLE_MAX_S - now_s)
            self._sweep = self._loop.call_later(due_s, self._close_idle)

    def _check_open(self, url: str) -> None:
        if self._is_closed:
            raise ConnectionLost(url, CLOSED)

    def __repr__(self) -> str:
        idle = sum(map(len, self._idle.values()))
        return f"<Pool: {len(self._used)} used, {idle} idle>"
