"""API servers in the test's process: one with its administrator, or two on one etcd."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import NamedTuple

import pytest

from proreus.aio.clock import SystemClock
from proreus.client import Client
from proreus.server.config import ServerConfig
from proreus.testing.server import RunningServer, running_server
from tests.real_etcd import running_etcd


@pytest.fixture
async def server() -> AsyncIterator[RunningServer]:
    async with running_server() as started:
        yield started


@pytest.fixture
async def client(server: RunningServer) -> AsyncIterator[Client]:
    async with server.client() as made:
        yield made


class SharedEtcd(NamedTuple):
    """A client of each of two servers that share one etcd."""

    one: Client
    other: Client


@asynccontextmanager
async def servers_on_one_etcd() -> AsyncIterator[SharedEtcd]:
    async with running_etcd() as etcd:
        config = ServerConfig(etcd=tuple(etcd.endpoints))
        async with (
            running_server(config, SystemClock()) as one,
            running_server(config, SystemClock()) as other,
            one.client() as client_of_one,
            other.client() as client_of_other,
        ):
            yield SharedEtcd(client_of_one, client_of_other)
