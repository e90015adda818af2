"""The page in Chromium: one browser per session, a context of its own for each test.

The loop lasts as long as the browser, so every test here names it: ``pytestmark = SESSION_LOOP``.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import replace

import pytest
import pytest_asyncio
from playwright.async_api import Browser, BrowserContext

from proreus.client import Client
from proreus.client.config.loading import load_config
from tests.chromium import IS_MISSING, WHY_SKIPPED, chromium
from tests.dashboard.page.seen import Page, open_context
from tests.running_server import RunningServer, running_server


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """A cluster whose containers are processes: they log, and can be entered."""
    folder = tmp_path_factory.mktemp("dashboard")
    with running_server(folder / "data", "--runtime", "process", command="up") as started:
        yield started


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def client(cluster: RunningServer) -> AsyncIterator[Client]:
    config = replace(load_config(cluster.kubeconfig), rate_limit=None)
    async with Client(config) as made:
        yield made


@pytest_asyncio.fixture(scope="session", loop_scope="session", name="chromium")
async def running_chromium() -> AsyncIterator[Browser]:
    if IS_MISSING:
        pytest.skip(WHY_SKIPPED)
    async with chromium() as browser:
        yield browser


@pytest_asyncio.fixture(loop_scope="session")
async def context(chromium: Browser) -> AsyncIterator[BrowserContext]:
    opened = await open_context(chromium)
    yield opened
    await opened.close()


@pytest_asyncio.fixture(loop_scope="session")
async def page(context: BrowserContext, cluster: RunningServer) -> AsyncIterator[Page]:
    """Logged in as the administrator. A script that fails, or that the policy stops, fails the
    test."""
    opened = await Page.open(context, cluster.url)
    await opened.log_in(cluster.token)
    yield opened
    assert opened.failures == []
