"""A server on a virtual clock, and its administrator."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from proreus.client import Client
from proreus.testing.server import RunningServer, running_server
from proreus.testing.virtual_clock import VirtualClock


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest_asyncio.fixture
async def server(clock: VirtualClock) -> AsyncIterator[RunningServer]:
    async with running_server(clock=clock) as running:
        yield running


@pytest_asyncio.fixture
async def client(server: RunningServer) -> AsyncIterator[Client]:
    async with server.client() as connected:
        yield connected
