"""A server that is asked without a socket."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest_asyncio

from tests.unit.server.registry.server_under_test import Asking, asking


@pytest_asyncio.fixture
async def ask() -> AsyncIterator[Asking]:
    async with asking() as ready:
        yield ready
