"""What stands in front of several servers: hands each connection to one that takes it, in turn."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

from tests.connections import serving_connections

_PIECE_BYTES = 64 * 1024


@contextlib.asynccontextmanager
async def balancer(ports: list[int]) -> AsyncIterator[int]:
    """Its port. It knows nothing of health: a server that refuses is passed over."""
    turn = 0

    async def connect() -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        nonlocal turn
        for _ in ports:
            turn += 1
            with contextlib.suppress(ConnectionError):
                return await asyncio.open_connection("127.0.0.1", ports[turn % len(ports)])
        raise ConnectionError("no server listens")

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        from_server, to_server = await connect()
        try:
            passing = [
                asyncio.create_task(_pass_on(reader, to_server)),
                asyncio.create_task(_pass_on(from_server, writer)),
            ]
            try:
                # As soon as one side has ended; what the server sent before has been passed on.
                await asyncio.wait(passing, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for task in passing:
                    task.cancel()
                await asyncio.gather(*passing, return_exceptions=True)
            with contextlib.suppress(OSError):
                writer.close()
                await writer.wait_closed()
        finally:
            to_server.transport.abort()

    async with serving_connections(serve) as port:
        yield port


async def _pass_on(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while piece := await source.read(_PIECE_BYTES):
            target.write(piece)
            await target.drain()
