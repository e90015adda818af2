"""A server, its administrator, and webhooks in another process."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from proreus.client import Client
from proreus.testing.server import RunningServer, running_server
from tests.admission.webhooks import WebhookProcess, webhook_process


@pytest.fixture(scope="session")
def process() -> Iterator[WebhookProcess]:
    with webhook_process() as started:
        yield started


@pytest.fixture
async def server() -> AsyncIterator[RunningServer]:
    async with running_server() as started:
        yield started


@pytest.fixture
async def client(server: RunningServer) -> AsyncIterator[Client]:
    async with server.client() as made:
        yield made
