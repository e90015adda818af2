"""Addresses of hosts."""

from __future__ import annotations

import ipaddress


def is_loopback(host: str) -> bool:
    """Whether a host name or address is this machine's own."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def local_address(bound: str, port: int) -> str:
    """Where clients on this machine reach a server that is bound there, as ``host:port``."""
    host = "127.0.0.1" if bound in ("0.0.0.0", "::") else bound
    return f"{f'[{host}]' if ':' in host else host}:{port}"
