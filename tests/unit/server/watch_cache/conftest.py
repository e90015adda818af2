"""A cache of config maps over the memory storage, on a virtual clock."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest_asyncio

from proreus.testing.virtual_clock import VirtualClock
from tests.watching import Cluster, cluster_on_memory


@pytest_asyncio.fixture
async def cluster() -> AsyncIterator[Cluster]:
    async with cluster_on_memory(VirtualClock()) as cluster:
        yield cluster
