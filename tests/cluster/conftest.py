"""A real server in the test's process and a client that is not slowed down."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest_asyncio

from proreus.client import AuthSettings, Client, ClientConfig
from proreus.server.app import ApiServer
from proreus.server.config import ServerConfig


@pytest_asyncio.fixture
async def server() -> AsyncIterator[ApiServer]:
    async with ApiServer(ServerConfig()) as running:
        yield running


@pytest_asyncio.fixture
async def client(server: ApiServer) -> AsyncIterator[Client]:
    config = ClientConfig(
        server.url,
        auth=AuthSettings(token=server.token, over_loopback_http=True),
        rate_limit=None,
    )
    async with Client(config) as connected:
        yield connected
