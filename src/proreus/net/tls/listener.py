"""Accepts TLS connections; each gets a ``TlsTransport`` and a protocol of its own."""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
from collections.abc import Callable

from proreus.net.tls.handshakes import PENDING_MAX, Handshakes
from proreus.net.tls.transport import TlsTransport

_log = logging.getLogger(__name__)

# After an accept that failed for want of file descriptors or memory: others may give some back.
_PAUSE_S = 0.25
ACCEPTED_PER_TURN = 8


class TlsListener:
    """``close`` stops accepting; connections live on until they are closed themselves.

    In one turn of the loop only a few are accepted, so that those which are open have theirs.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        tls: ssl.SSLContext,
        connect: Callable[[], asyncio.Protocol],
        *,
        backlog: int,
        handshakes_max: int = PENDING_MAX,
    ) -> None:
        self._loop = loop
        self.tls = tls  # of connections from now on
        self._connect = connect
        self._backlog = backlog
        self._socket: socket.socket | None = None
        self._handshakes = Handshakes(loop, handshakes_max)
        self._failure = ""  # of the last accept; logged when it changes
        self._open: set[TlsTransport] = set()
        self._all_gone: asyncio.Event | None = None

    def listen(self, bound: socket.socket) -> int:
        """The port. ``bound`` is the listener's from now on. Raises OSError."""
        bound.listen(self._backlog)
        self._socket = bound
        self._loop.add_reader(bound.fileno(), self._accept)
        port: int = bound.getsockname()[1]
        return port

    def close(self) -> None:
        if self._socket is not None:
            self._loop.remove_reader(self._socket.fileno())
            self._socket.close()
            self._socket = None

    def abort(self) -> None:
        """Drop every connection that is still there, handshakes too."""
        for transport in list(self._open):
            transport.abort()

    async def wait_closed(self) -> None:
        """Until no connection is left."""
        if self._open:
            self._all_gone = asyncio.Event()
            await self._all_gone.wait()

    def _accept(self) -> None:
        """What is not accepted now stays in the backlog, and the loop calls again."""
        for _ in range(ACCEPTED_PER_TURN):
            if self._socket is None or self._handshakes.is_behind:
                return
            try:
                raw, _ = self._socket.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                self._log_failure(error.strerror or str(error))
                self._loop.remove_reader(self._socket.fileno())
                self._loop.call_later(_PAUSE_S, self._accept_again)
                return
            self._log_failure("")
            try:
                connected = self._prepared(raw)
            except OSError:
                raw.close()  # its client is gone already, perhaps with a few bytes left behind
                continue
            protocol, handshakes = self._connect(), self._handshakes
            self._open.add(TlsTransport(self._loop, connected, protocol, self._forget, handshakes))

    def _log_failure(self, failure: str) -> None:
        if failure == self._failure:
            return
        self._failure = failure
        if failure:
            _log.error("connections cannot be accepted and wait: %s", failure)
        else:
            _log.warning("connections are accepted again")

    def _prepared(self, raw: socket.socket) -> ssl.SSLSocket:
        raw.getpeername()  # fails if it is gone: ``wrap_socket`` would, and leave it open
        raw.setblocking(False)
        raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        return self.tls.wrap_socket(raw, server_side=True, do_handshake_on_connect=False)

    def _accept_again(self) -> None:
        if self._socket is not None:
            self._loop.add_reader(self._socket.fileno(), self._accept)

    def _forget(self, transport: TlsTransport) -> None:
        self._open.discard(transport)
        if self._all_gone is not None and not self._open:
            self._all_gone.set()
