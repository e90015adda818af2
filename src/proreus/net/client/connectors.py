"""How the client connects: options of sockets, addresses that are forbidden, a socket given to it.

Most of what is used of aiohttp's private parts is here; ``DESIGN.md`` lists it.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import socket
import ssl
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any
from weakref import WeakSet

import aiohttp
from aiohttp.client_proto import ResponseHandler
from aiohttp.helpers import _EXC_SENTINEL

from proreus.lazy_dataclass import dataclass
from proreus.net.client.transport_error import NotPermitted

CONNECT_TIMEOUT_S = 30.0
_REASON_MAX = 200

# Three unanswered probes, and data unacknowledged for as long, end a connection.
_KEEPALIVE_IDLE_S, _KEEPALIVE_INTERVAL_S, _KEEPALIVE_PROBES = 30, 15, 3
_TCP_OPTIONS: Sequence[tuple[str, int]] = (
    ("TCP_NODELAY", 1),
    ("TCP_KEEPIDLE", _KEEPALIVE_IDLE_S),
    ("TCP_KEEPINTVL", _KEEPALIVE_INTERVAL_S),
    ("TCP_KEEPCNT", _KEEPALIVE_PROBES),
    ("TCP_USER_TIMEOUT", 1000 * (_KEEPALIVE_IDLE_S + _KEEPALIVE_INTERVAL_S * _KEEPALIVE_PROBES)),
)


Dropped = WeakSet[asyncio.Transport]


@dataclass(frozen=True, slots=True)
class Route:
    """How connections are made. Equal routes may share them."""

    ssl: ssl.SSLContext | None = None  # None: the scheme decides, with the system's CAs
    server_hostname: str | None = None  # what the certificate must name, if not the URL's host
    proxy: str | None = None
    compressed: bool = True  # ask for gzip
    decompress: bool = True  # what comes compressed; else it is left as it came
    connect_timeout_s: float = CONNECT_TIMEOUT_S
    # Asked when a write has its connection and nothing of it has been sent; False: it is not.
    permit: Callable[[], bool] | None = None
    given: socket.socket | None = None  # the only connection there is; closed with the client
    # Asked with the IP address and port of every connection before it is opened, after the host
    # was resolved, so that no name can hide an address; True: it is not opened.
    forbid: Callable[[str, int], bool] | None = None
    follow_redirects: bool = True  # of GET requests


def connector(route: Route, limit: int, dropped: Dropped) -> aiohttp.BaseConnector:
    """``dropped`` gets the connections that are closed in the middle of an answer."""
    if route.given is not None:
        return _GivenSocket(dropped, route.given, route.ssl)
    return _PermittedConnector(
        dropped,
        route.permit,
        limit=limit,
        ssl=route.ssl if route.ssl is not None else True,
        socket_factory=partial(open_socket, forbid=route.forbid),
        keepalive_timeout=90.0,
    )


class _NotHttp(aiohttp.ClientError):
    """Bytes inside an answer's body that break HTTP's rules."""


class _Protocol(ResponseHandler):
    """The library drops a connection whose bytes are not HTTP, and raises where an answer is
    awaited, but not where a body is read, which would wait for ever."""

    def set_exception(self, exc: Any, exc_cause: Any = _EXC_SENTINEL) -> None:
        body = self._payload
        super().set_exception(exc, exc_cause)
        if body is not None and not body.is_eof() and body.exception() is None:
            why = " ".join(str(exc_cause).split())
            body.set_exception(_NotHttp(f"not HTTP: {why[:_REASON_MAX]}"), exc)


def _protocol_factory(loop: asyncio.AbstractEventLoop) -> functools.partial[ResponseHandler]:
    protocol: type[ResponseHandler] = _Protocol
    return functools.partial(protocol, loop=loop)


class _Connector(aiohttp.BaseConnector):
    def __init__(self, dropped: Dropped, **options: Any) -> None:
        super().__init__(**options)
        self._factory = _protocol_factory(self._loop)
        self._dropped = dropped

    def _release(self, key: Any, protocol: Any, *, should_close: bool = False) -> None:
        if should_close and protocol.transport is not None:
            # Those of uvloop have no weak references; that loop closes all of them at its end.
            with contextlib.suppress(TypeError):
                self._dropped.add(protocol.transport)
        super()._release(key, protocol, should_close=should_close)


class _PermittedConnector(_Connector, aiohttp.TCPConnector):
    """Between getting a connection and sending on it, so that no wait for one is in between."""

    def __init__(self, dropped: Dropped, permit: Callable[[], bool] | None, **options: Any) -> None:
        super().__init__(dropped, **options)
        self._permit = permit

    async def connect(self, req: Any, traces: Any, timeout: Any) -> Any:
        connection = await super().connect(req, traces, timeout)
        if self._permit is not None and req.method != "GET" and not self._permit():
            connection.release()
            raise NotPermitted(str(req.url), "this client must not write any more")
        return connection


class _GivenSocket(_Connector):
    """Its one connection is there already, whatever the URL says."""

    def __init__(
        self, dropped: Dropped, given: socket.socket, context: ssl.SSLContext | None
    ) -> None:
        super().__init__(dropped, force_close=True, limit=1)
        self._given = given
        self._context = context

    async def _create_connection(self, req: Any, traces: Any, timeout: Any) -> Any:
        is_secure = req.url.scheme == "https"
        _, protocol = await self._loop.create_connection(
            self._factory,
            sock=self._given,
            ssl=self._context if is_secure else None,
            server_hostname=req.url.host if is_secure else None,
        )
        return protocol


class AddressForbidden(OSError):
    """Raised instead of opening a socket; an OSError, since the library expects no other."""


def open_socket(
    address: tuple[Any, ...], forbid: Callable[[str, int], bool] | None = None
) -> socket.socket:
    family, kind, protocol, _, (host, port, *_) = address
    if forbid is not None and forbid(host, port):
        raise AddressForbidden("address not allowed")
    opened = socket.socket(family=family, type=kind, proto=protocol)
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _TCP_OPTIONS:
        option = getattr(socket, name, None)
        if option is not None:  # not every system has every option
            opened.setsockopt(socket.IPPROTO_TCP, option, value)
    return opened
