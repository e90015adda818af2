"""A server, a second one behind it, and who asks."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from proreus.testing.server import RunningServer
from tests.aggregation.world import aggregated_server, asking, front_server


@pytest.fixture
async def front(tmp_path: Path) -> AsyncIterator[RunningServer]:
    async with front_server(tmp_path / "front") as running:
        yield running


@pytest.fixture
async def backend(tmp_path: Path, front: RunningServer) -> AsyncIterator[RunningServer]:
    async with aggregated_server(tmp_path / "backend", front) as running:
        yield running


@pytest.fixture
async def admin(front: RunningServer) -> AsyncIterator[httpx.AsyncClient]:
    async with asking(front) as client:
        yield client
