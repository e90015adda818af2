"""A socket that has its address and does not listen yet: clients are refused until it does."""

from __future__ import annotations

import socket


def bound_socket(host: str, port: int, *, is_shared: bool = False) -> socket.socket:
    """``port`` 0 takes a free one. ``is_shared``: beside other sockets whose port is shared too;
    the kernel hands each connection to one of those that listen. Raises OSError."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio turns Nagle's algorithm off only for connections of a socket that names its protocol;
    # with it an event waits up to 40 ms for the reader to acknowledge the one before.
    found = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if port:
            # A free port has no connections of a server before it that would be in the way.
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if is_shared:
            share_port(found)
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


def share_port(bound: socket.socket) -> None:
    """From now on sockets of the same user's processes may bind to the same port, if theirs is
    shared too. Of one that was bound before, it is certain that the port was nobody's. Raises
    OSError."""
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
