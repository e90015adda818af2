"""A server, and its debug pages as JSON."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp

from proreus.client import Client
from proreus.server.config import ServerConfig
from proreus.testing.server import RunningServer, running_server


@dataclass(frozen=True, slots=True)
class Asking:
    server: RunningServer
    client: Client
    http: aiohttp.ClientSession

    async def get(self, path: str, status: int = 200, token: str = "") -> Any:
        async with self.http.get(self.server.url + path, headers=self.login(token)) as answer:
            assert answer.status == status, await answer.text()
            return await answer.json(content_type=None) if status == 200 else None

    def login(self, token: str = "") -> dict[str, str]:
        return {"Authorization": f"Bearer {token or self.server.token}"}


@asynccontextmanager
async def asking(config: ServerConfig | None = None) -> AsyncIterator[Asking]:
    async with (
        running_server(config) as server,
        server.client() as client,
        aiohttp.ClientSession() as http,
    ):
        yield Asking(server, client, http)
