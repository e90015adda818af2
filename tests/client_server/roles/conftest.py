"""A server with roles enforced, its administrator, and a user with no rights of her own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest_asyncio

from proreus.server.app import ApiServer
from proreus.server.config import ServerConfig
from proreus.server.registry.user import AUTHENTICATED, User


def rbac_config(**more: Any) -> ServerConfig:
    ann = User("ann", (AUTHENTICATED,))
    return ServerConfig(tokens={"ann-token": ann}, authorization_mode=("RBAC",), **more)


@pytest_asyncio.fixture
async def server() -> AsyncIterator[ApiServer]:
    async with ApiServer(rbac_config()) as running:
        yield running


@pytest_asyncio.fixture
async def admin(server: ApiServer) -> AsyncIterator[httpx.AsyncClient]:
    async with as_user(server, server.token) as client:
        yield client


@pytest_asyncio.fixture
async def ann(server: ApiServer) -> AsyncIterator[httpx.AsyncClient]:
    async with as_user(server, "ann-token") as client:
        yield client


def as_user(server: ApiServer, token: str) -> httpx.AsyncClient:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    return httpx.AsyncClient(base_url=server.url, headers=headers, timeout=60)
