"""A real server in the test's process, over TLS, found through the kubeconfig it wrote."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from proreus.client import Client
from proreus.server.app import ApiServer
from proreus.server.config import ServerConfig


@pytest_asyncio.fixture
async def server(tmp_path: Path) -> AsyncIterator[ApiServer]:
    config = ServerConfig(
        data_dir=tmp_path / "data", tls=True, kubeconfig=tmp_path / "data" / "kubeconfig"
    )
    async with ApiServer(config) as running:
        yield running


@pytest_asyncio.fixture
async def client(
    server: ApiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Client]:
    monkeypatch.setenv("KUBECACHEDIR", str(tmp_path / "cache"))
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "data" / "kubeconfig"))
    async with Client.from_env() as connected:
        yield connected
