"""A server that hands its connections to a function: for tests that speak the bytes themselves."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable

from tests.closing import connections_ended

_HANDSHAKE_S = 10.0
Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@contextlib.asynccontextmanager
async def serving_connections(
    serve: Serve, host: str = "127.0.0.1", port: int = 0, *, tls: ssl.SSLContext | None = None
) -> AsyncIterator[int]:
    """The port. At the end connections that are still open are reset."""
    serving: set[asyncio.Task[None]] = set()
    is_ending = False

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if is_ending:  # its handshake was under way when the server was closed
            writer.transport.abort()
            return
        task = asyncio.current_task()
        assert task is not None
        serving.add(task)
        try:
            with contextlib.suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
                await serve(reader, writer)
        finally:
            serving.discard(task)
            writer.transport.abort()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    patience_s = _HANDSHAKE_S if tls is not None else None
    server = await asyncio.start_server(
        connected, host, port, ssl=tls, limit=1 << 22, ssl_handshake_timeout=patience_s
    )
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        is_ending = True
        server.close()
        for task in list(serving):
            task.cancel()
        await asyncio.gather(*serving, return_exceptions=True)
        await connections_ended(server)
