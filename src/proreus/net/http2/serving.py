"""What makes an HTTP server offer HTTP/2; what that needs is loaded with the first such client."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from proreus.net.http1.server import Connect, HttpServer


def http2(streams_max: int, goaway_chance: float = 0.0) -> Connect:
    """``streams_max``: requests at a time on one connection. ``goaway_chance``: of each answer, to
    send its client to a new one."""

    def connect(server: HttpServer, loop: asyncio.AbstractEventLoop) -> asyncio.Protocol:
        from proreus.net.http2.connection import Http2Connection

        return Http2Connection(server, loop, streams_max, goaway_chance)

    return connect
