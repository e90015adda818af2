"""The address at which others reach this server."""

from __future__ import annotations

import ipaddress
import socket

from proreus.api.values.names import parse_ip

# Of a network for examples: nothing is sent, the kernel only says which of its addresses it would
# send from.
_SOMEWHERE = {4: ("192.0.2.1", 9), 6: ("2001:db8::1", 9)}


def advertised_address(chosen: str, bound: str) -> str:
    """``chosen`` by the administrator, else the one it is bound to; of a server that is bound to
    all of them, the one that leads out of the machine.

    "" for a server that only this machine can reach: Kubernetes refuses loopback addresses in
    Endpoints, and to others they would name the wrong machine.
    """
    if chosen:
        return chosen
    address = parse_ip(bound)
    if address is None:
        return ""  # a name, which is no endpoint's address
    if address.is_unspecified:
        address = ipaddress.ip_address(_outbound(address.version) or "127.0.0.1")
    return "" if address.is_loopback else str(address)


def _outbound(version: int) -> str:
    family = socket.AF_INET if version == 4 else socket.AF_INET6
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect(_SOMEWHERE[version])
            found: str = probe.getsockname()[0]
            return found
    except OSError:
        return ""  # no network but its own
