"""A real server in the test's process, over TLS, found through the kubeconfig it wrote; or the one
that ``--kubeconfig`` names."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from proreus.client import Client
from proreus.server.app import ApiServer
from proreus.server.config import ServerConfig
from tests.any_server import client_of


@pytest_asyncio.fixture
async def own_server(given_kubeconfig: str, tmp_path: Path) -> AsyncIterator[ApiServer | None]:
    """None: the suite runs against another one."""
    if given_kubeconfig:
        yield None
        return
    config = ServerConfig(
        data_dir=tmp_path / "data", tls=True, kubeconfig=tmp_path / "data" / "kubeconfig"
    )
    async with ApiServer(config) as running:
        yield running


@pytest.fixture
def server(own_server: ApiServer | None) -> ApiServer:
    if own_server is None:
        pytest.skip("it looks into a server of its own")
    return own_server


@pytest_asyncio.fixture
async def client(
    given_kubeconfig: str,
    own_server: ApiServer | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> AsyncIterator[Client]:
    if own_server is None:
        async with client_of(given_kubeconfig) as connected:
            yield connected
        return
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "data" / "kubeconfig"))
    async with Client.from_env() as connected:
        yield connected
