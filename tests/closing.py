"""Connections that are on their way out: TLS says good-bye in its own time, and loops of tests end
at once."""

from __future__ import annotations

import asyncio

_PATIENCE_S = 60


async def connections_ended(server: asyncio.Server) -> None:
    """Wait until a closed server has no connection any more: one whose handshake was under way
    is known to nobody. Before Python 3.12 ``wait_closed`` does not wait."""
    await asyncio.sleep(0)  # those that were just accepted become known
    async with asyncio.timeout(_PATIENCE_S):
        while getattr(server, "_active_count", 0) or getattr(server, "_clients", ()):  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def all_closed() -> None:
    """Wait until no socket of the running loop is left."""
    selector = asyncio.get_running_loop()._selector  # type: ignore[attr-defined]  # no other way
    async with asyncio.timeout(_PATIENCE_S):
        while len(selector.get_map()) > 1:  # noqa: ASYNC110  # the loop's own pipe stays
            await asyncio.sleep(0.01)
