"""How a client connects: its route, the options of its sockets, addresses that are forbidden."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable, Sequence
from typing import Any

from proreus.lazy_dataclass import dataclass

CONNECT_TIMEOUT_S = 30.0

# Three unanswered probes, and data unacknowledged for as long, end a connection.
_KEEPALIVE_IDLE_S, _KEEPALIVE_INTERVAL_S, _KEEPALIVE_PROBES = 30, 15, 3
_TCP_OPTIONS: Sequence[tuple[str, int]] = (
    ("TCP_NODELAY", 1),
    ("TCP_KEEPIDLE", _KEEPALIVE_IDLE_S),
    ("TCP_KEEPINTVL", _KEEPALIVE_INTERVAL_S),
    ("TCP_KEEPCNT", _KEEPALIVE_PROBES),
    ("TCP_USER_TIMEOUT", 1000 * (_KEEPALIVE_IDLE_S + _KEEPALIVE_INTERVAL_S * _KEEPALIVE_PROBES)),
)


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


class AddressForbidden(OSError):
    """Raised instead of opening a socket."""


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
