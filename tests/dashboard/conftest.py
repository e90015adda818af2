"""A server in the test's process with the dashboard at its own address."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest_asyncio

from proreus.testing.server import RunningServer
from tests.dashboard.browser import Browser, browsing
from tests.in_process import client, server

__all__ = ["browser", "client", "server"]


@pytest_asyncio.fixture
async def browser(server: RunningServer) -> AsyncIterator[Browser]:
    """Nobody is logged in."""
    async with browsing(server) as opened:
        yield opened
