"""A real server in the test's process, reached over real sockets."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest_asyncio

from proreus.server.app import ApiServer
from proreus.server.config import ServerConfig


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def lasting_server() -> AsyncIterator[ApiServer]:
    """For tests after which it is as before: requests that are refused."""
    async with ApiServer(ServerConfig()) as running:
        yield running


@pytest_asyncio.fixture
async def server() -> AsyncIterator[ApiServer]:
    async with ApiServer(ServerConfig()) as running:
        yield running
