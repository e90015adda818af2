"""A server in the test's process with the dashboard at its own address."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest_asyncio

from proreus.client import Client
from proreus.testing.server import RunningServer, running_server
from tests.dashboard.browser import Browser, browsing


@pytest_asyncio.fixture
async def server() -> AsyncIterator[RunningServer]:
    async with running_server() as started:
        yield started


@pytest_asyncio.fixture
async def client(server: RunningServer) -> AsyncIterator[Client]:
    async with server.client() as made:
        yield made


@pytest_asyncio.fixture
async def browser(server: RunningServer) -> AsyncIterator[Browser]:
    """Nobody is logged in."""
    async with browsing(server) as opened:
        yield opened
