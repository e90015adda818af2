"""HTTP server: listens, accepts, and keeps account of its connections.

Start at ``HttpServer.run``. ``connection`` answers, ``request_reader`` reads,
``messages`` is what a handler sees, ``tls.transport`` encrypts. Clients that choose HTTP/2 in their
TLS handshake get an ``http2.connection`` instead. Cost: about 45 µs of CPU per
TLS request, most of it in TLS and the kernel.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import field
from datetime import UTC, datetime
from typing import Protocol, cast

from proreus.aio.clock import Clock
from proreus.aio.tasks import background
from proreus.aio.turns import Turns
from proreus.lazy_dataclass import dataclass
from proreus.net.bound_socket import bound_socket
from proreus.net.http1.messages import Handler
from proreus.net.http1.request_head import Heads
from proreus.net.http1.request_reader import RequestReader
from proreus.net.tls.listener import ACCEPTED_PER_TURN, TlsListener

# Without this a client that opens connections and says nothing would hold them for an hour.
_KEEPALIVE_S = 180.0
_LOOK_S = 15.0
_BACKLOG = 1024


Connect = Callable[["HttpServer", asyncio.AbstractEventLoop], asyncio.Protocol]


class ServedConnection(Protocol):
    """Of one client, whichever protocol it speaks."""

    transport: asyncio.Transport | None

    @property
    def is_busy(self) -> bool: ...

    @property
    def idle_since(self) -> float:
        """When it was last at work, unless it is."""
        ...

    def require_transport(self) -> asyncio.Transport:
        """Raises ConnectionResetError once the client is gone."""
        ...

    def finish(self) -> None:
        """No further requests; those under way are answered."""
        ...

    def drop(self) -> None:
        """It was idle for too long."""
        ...

    async def end(self) -> None:
        """Cancel what is at work and wait for it."""
        ...


_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def offer_protocols(tls: ssl.SSLContext, *, has_http2: bool) -> None:
    tls.set_alpn_protocols(["h2", "http/1.1"] if has_http2 else ["http/1.1"])


@dataclass(slots=True)
class HttpServer:
    """Serves ``handler`` on one address; ``run`` holds it open.

    ``port`` is the real one once bound or running; one that ``shares_port`` listens beside other
    processes. Large answers are sent in ``turns``. Leaving
    ``run`` closes the listener, lets requests in progress finish for ``grace_s`` and then drops
    them.
    """

    handler: Handler
    clock: Clock
    host: str = "127.0.0.1"
    port: int = 0
    tls: ssl.SSLContext | None = None
    grace_s: float = 2.0
    turns: Turns = field(default_factory=Turns)
    shares_port: bool = False
    http2: Connect | None = None  # makes connections of clients that choose it; needs TLS
    connections: set[ServedConnection] = field(default_factory=set, init=False)
    heads: Heads = field(default_factory=Heads, init=False)
    is_ending: bool = field(default=False, init=False)
    _dates: tuple[int, bytes] = field(default=(-1, b""), init=False)
    _bound: socket.socket | None = field(default=None, init=False)
    _listener: asyncio.Server | TlsListener | None = field(default=None, init=False)
    _all_done: asyncio.Event | None = field(default=None, init=False)

    def bind(self) -> None:
        """Take the address before ``run``, which does so otherwise. Raises OSError."""
        self._bound = bound_socket(self.host, self.port, is_shared=self.shares_port)
        self.port = self._bound.getsockname()[1]

    def unbind(self) -> None:
        """What was bound, if nothing runs on it."""
        if self._bound is not None:
            self._bound.close()
            self._bound = None

    @asynccontextmanager
    async def run(self) -> AsyncIterator[HttpServer]:
        try:
            listener = await self._listen()
        except OSError:
            self.unbind()
            raise
        try:
            async with background(self._drop_idle()):
                yield self
        finally:
            self.begin_ending()
            await self._finish_requests()
            for connection in list(self.connections):
                await connection.end()
            if isinstance(listener, TlsListener):
                listener.abort()
                await listener.wait_closed()

    async def _listen(self) -> asyncio.Server | TlsListener:
        loop = asyncio.get_running_loop()

        def connect() -> asyncio.Protocol:
            if self.http2 is None:
                return RequestReader(self, loop)
            return _Negotiated(self, loop, self.http2)

        listener: asyncio.Server | TlsListener
        if self._bound is None:
            self.bind()
        assert self._bound is not None, "it was bound"
        listening = self._bound
        if self.tls is None:
            # asyncio accepts as many in one turn of the loop as its backlog; the
            # kernel's own is longer.
            listener = await loop.create_server(connect, sock=listening, backlog=ACCEPTED_PER_TURN)
            listening.listen(_BACKLOG)
        else:
            self._offer_protocols(self.tls)
            listener = TlsListener(loop, self.tls, connect, backlog=_BACKLOG)
            listener.listen(listening)
        self._bound, self._listener = None, listener
        return listener

    def use_tls(self, tls: ssl.SSLContext) -> None:
        """For connections from now on; those that are open keep theirs."""
        self._offer_protocols(tls)
        self.tls = tls
        if isinstance(self._listener, TlsListener):
            self._listener.tls = tls

    def _offer_protocols(self, tls: ssl.SSLContext) -> None:
        offer_protocols(tls, has_http2=self.http2 is not None)

    async def _drop_idle(self) -> None:
        """One look around now and then instead of a timer per connection."""
        while True:
            await self.clock.sleep(_LOOK_S)
            longest = self.clock.monotonic() - _KEEPALIVE_S
            for connection in list(self.connections):
                if not connection.is_busy and connection.idle_since < longest:
                    connection.drop()

    async def _finish_requests(self) -> None:
        """Counted in real time: a clock that stands still must not keep a server alive."""
        if not any(connection.is_busy for connection in self.connections):
            return
        self._all_done = asyncio.Event()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self.grace_s):
                await self._all_done.wait()

    async def break_off(self) -> None:
        """End the connections that are at work, without their answers; those that wait stay."""
        for connection in [each for each in self.connections if each.is_busy]:
            await connection.end()

    def request_done(self) -> None:
        if self._all_done is not None and not any(c.is_busy for c in self.connections):
            self._all_done.set()

    def begin_ending(self) -> None:
        """No new connections, and those that are open end with their next answer."""
        self.is_ending = True
        self.stop_listening()
        for connection in list(self.connections):
            connection.finish()

    def stop_listening(self) -> None:
        if self._listener is not None:
            self._listener.close()
            self._listener = None

    def date(self) -> bytes:
        """The Date header's line, made once a second."""
        second = int(self.clock.now())
        if second != self._dates[0]:
            self._dates = (second, f"Date: {_http_date(second)}\r\n".encode())
        return self._dates[1]


def _http_date(second: int) -> str:
    """As RFC 9110 wants it, in English whatever the locale. ``email.utils`` has the same, and loads
    twenty modules."""
    at = datetime.fromtimestamp(second, UTC)
    day, month = _DAYS[at.weekday()], _MONTHS[at.month - 1]
    return f"{day}, {at.day:02} {month} {at.year} {at:%H:%M:%S} GMT"


class _Negotiated(asyncio.Protocol):
    """Until the handshake has told which protocol the client chose of those it was offered."""

    def __init__(self, server: HttpServer, loop: asyncio.AbstractEventLoop, http2: Connect) -> None:
        self._server = server
        self._loop = loop
        self._http2 = http2

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        encrypted = transport.get_extra_info("ssl_object")
        is_http2 = encrypted is not None and encrypted.selected_alpn_protocol() == "h2"
        connect = self._http2 if is_http2 else RequestReader
        chosen = connect(self._server, self._loop)
        cast(asyncio.Transport, transport).set_protocol(chosen)
        chosen.connection_made(transport)
