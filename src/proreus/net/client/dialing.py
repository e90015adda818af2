"""Opens connections: socket, perhaps a proxy, TLS. What fails before a request could be sent is a
ConnectFailed here, and nowhere else."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import socket
import ssl
from collections.abc import Iterator

from proreus.net.client import tunnel
from proreus.net.client.connection import ClientConnection
from proreus.net.client.connectors import AddressForbidden, Route
from proreus.net.client.response_head import ResponseHeads
from proreus.net.client.server_address import Origin, ServerAddress, server_address
from proreus.net.client.sockets import addresses_of, connected_sockets
from proreus.net.client.transport_error import (
    AddressNotAllowed,
    ConnectFailed,
    ConnectionRefused,
    TlsFailed,
    TransportError,
    TransportTimeout,
)
from proreus.net.tls.handshakes import Handshakes
from proreus.net.tls.transport import TlsTransport

_HANDSHAKES_MAX = 1 << 30  # as many as there are callers


class Dialer:
    """Along one route. TLS sessions are resumed: a server that allows it spares both sides most of
    a handshake. One is used only for the name that was checked when it was made."""

    def __init__(self, route: Route, heads: ResponseHeads) -> None:
        self._route = route
        self._heads = heads
        self._loop = asyncio.get_running_loop()
        self._handshakes = Handshakes(self._loop, _HANDSHAKES_MAX)
        self._sessions: dict[Origin, ssl.SSLSession] = {}
        self.proxy: ServerAddress | None = server_address(route.proxy)[0] if route.proxy else None

    async def dial(self, origin: Origin, url: str) -> ClientConnection:
        """Raises ConnectFailed, TransportTimeout."""
        try:
            async with asyncio.timeout(self._route.connect_timeout_s):
                if self._route.given is not None:
                    with translated(url):
                        return await self._over(self._route.given, origin)
                return await self._to_first(origin, url)
        except TimeoutError as late:
            raise TransportTimeout(url, "no connection before the deadline") from late

    def remember_session(self, origin: Origin, connection: ClientConnection) -> None:
        """For the next connections, once the server has sent what is needed: with an answer."""
        transport = connection.transport
        if isinstance(transport, TlsTransport):
            session = transport.get_extra_info("ssl_object").session
            if session is not None and session.has_ticket:
                self._sessions[origin] = session

    async def _to_first(self, origin: Origin, url: str) -> ClientConnection:
        near = origin if self.proxy is None else self.proxy.origin
        failure: TransportError | None = None
        try:
            with translated(url):
                addresses = await addresses_of(near.host, near.port)
                async with contextlib.aclosing(
                    connected_sockets(addresses, self._route.forbid)
                ) as sockets:
                    async for connected in sockets:
                        try:
                            with translated(url):
                                return await self._over(connected, origin)
                        except ConnectFailed as error:  # another address may do better
                            failure = error
        except ConnectFailed:
            if failure is None:
                raise
        assert failure is not None, "the addresses end with a failure"
        raise failure

    async def _over(self, connected: socket.socket, origin: Origin) -> ClientConnection:
        """Over a socket, which is the connection's from now on. Raises OSError, RefusedByProxy."""
        try:
            connected.setblocking(False)
            proxy = self.proxy if self._route.given is None else None
            if proxy is None:
                return await self._direct(connected, origin, origin.is_secure)
            if not origin.is_secure:
                return await self._direct(connected, proxy.origin, proxy.origin.is_secure)
            return await self._through(connected, origin, proxy)
        except BaseException:
            connected.close()
            raise

    async def _direct(
        self, connected: socket.socket, origin: Origin, is_secure: bool
    ) -> ClientConnection:
        made = ClientConnection(self._loop, self._heads)
        if not is_secure:
            await self._loop.create_connection(lambda: made, sock=connected)
            return made
        session = self._sessions.get(origin)
        wrapped = self._context().wrap_socket(
            connected,
            do_handshake_on_connect=False,
            server_hostname=self._name(origin),
            session=session,
        )
        opened: asyncio.Future[None] = self._loop.create_future()
        made.on_opened = opened
        transport = TlsTransport(self._loop, wrapped, made, _Ended(opened), self._handshakes)
        try:
            await opened
        except BaseException:
            self._sessions.pop(origin, None)
            transport.abort()
            raise
        return made

    async def _through(
        self, connected: socket.socket, origin: Origin, proxy: ServerAddress
    ) -> ClientConnection:
        """asyncio's own TLS, which runs in that of a proxy too: ours is of sockets."""
        context, is_secure = self._context(), proxy.origin.is_secure
        asking = tunnel.ProxyTunnel(self._loop, origin, proxy.authorization)
        outer, _ = await self._loop.create_connection(
            lambda: asking,
            sock=connected,
            ssl=context if is_secure else None,
            server_hostname=proxy.origin.host if is_secure else None,
        )
        try:
            await asking.opened
            made = ClientConnection(self._loop, self._heads)
            inner = await self._loop.start_tls(
                outer, made, context, server_hostname=self._name(origin)
            )
        except BaseException:
            outer.abort()
            raise
        assert inner is not None, "the connection is open"
        made.connection_made(inner)
        return made

    def _context(self) -> ssl.SSLContext:
        return self._route.ssl or _system_trust()

    def _name(self, origin: Origin) -> str:
        return self._route.server_hostname or origin.host.rstrip(".")


class _Ended:
    """Called when a connection is over: perhaps its handshake has failed."""

    def __init__(self, opened: asyncio.Future[None]) -> None:
        self._opened = opened

    def __call__(self, transport: TlsTransport) -> None:
        if not self._opened.done():
            self._opened.set_exception(transport.failure or ConnectionResetError(_CUT))


_CUT = "the server closed the connection in the handshake"


@functools.lru_cache(maxsize=1)
def _system_trust() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    return context


@contextlib.contextmanager
def translated(url: str) -> Iterator[None]:
    """Failures of connecting, as ours."""
    try:
        yield
    except (OSError, ValueError, tunnel.RefusedByProxy) as error:  # a name may be unfit for TLS
        raise _translate(url, error) from error


def _translate(url: str, error: Exception) -> TransportError:
    match error:
        case tunnel.RefusedByProxy():
            return ConnectFailed(url, f"the proxy answered {error}")
        case AddressForbidden():
            return AddressNotAllowed(url, "address not allowed")
        case ssl.SSLEOFError() | ssl.SSLZeroReturnError():
            return ConnectFailed(url, _CUT)
        case ssl.SSLError():
            return TlsFailed(url, f"TLS: {getattr(error, 'verify_message', '') or error}")
        case ConnectionRefusedError():
            return ConnectionRefused(url, "connection refused")
        case OSError():
            return ConnectFailed(url, error.strerror or str(error))
        case _:
            return ConnectFailed(url, str(error))
