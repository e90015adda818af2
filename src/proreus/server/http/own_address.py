"""Which addresses are this API server's own.

The address of a kubelet comes from a Node object, which any author of nodes can point at the API
server itself. A request of the server to itself would be authenticated as the server.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable, Iterable


class OwnAddress:
    """``port`` is asked when needed: it is known once the server listens.

    ``advertised``: addresses at which clients reach this server that are not of this machine.
    """

    def __init__(self, port: Callable[[], int], advertised: Iterable[str] = ()) -> None:
        self._port = port
        self._advertised = frozenset(filter(None, map(_parsed, advertised)))

    def includes(self, host: str, port: int) -> bool:
        """Whether a connection to this IP address and port would reach this server."""
        if port != self._port():
            return False
        address = _parsed(host)
        return address is None or address in self._advertised or _is_local(address)


def _parsed(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    mapped = address.ipv4_mapped if address.version == 6 else None
    return mapped or address


def _is_local(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    """Whether the address is one of this machine's: only then can a socket be bound to it."""
    if address.is_loopback or address.is_unspecified:
        return True
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.bind((str(address), 0))
    except OSError:
        return False
    return True
