"""A socket that has its address and does not listen yet: clients are refused until it does."""

from __future__ import annotations

import socket


def bound_socket(host: str, port: int) -> socket.socket:
    """``port`` 0 takes a free one. Raises OSError."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio turns Nagle's algorithm off only for connections of a socket that names its protocol;
    # with it an event waits up to 40 ms for the reader to acknowledge the one before.
    found = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if port:
            # A free port has no connections of a server before it that would be in the way.
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            found.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        found.bind((host, port))
        # Not before a free port was chosen, which might be another's then: its connections inherit
        # it, and so a server that starts again on this port is not kept out by those that closed.
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    except OSError:
        found.close()
        raise
    found.setblocking(False)
    return found
