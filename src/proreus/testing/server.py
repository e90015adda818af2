"""An API server in the test's own process: real, in memory, ready in milliseconds.

    async with running_server() as server, server.client() as client:
        await client.core_v1.config_maps.create({...}, namespace="default")

Each is its own world: several run side by side in one process and know nothing of each other.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from proreus.aio.clock import Clock
from proreus.client import AuthSettings, Client, ClientConfig, TlsSettings
from proreus.server.app import ApiServer
from proreus.server.config import ServerConfig


@dataclass(frozen=True, slots=True)
class RunningServer:
    """How to reach a server that runs; ``api`` is the server itself."""

    api: ApiServer

    @property
    def url(self) -> str:
        return self.api.url

    @property
    def token(self) -> str:
        """The administrator's."""
        return self.api.token

    @property
    def kubeconfig(self) -> Path | None:
        """For kubectl and other programs; written only if the configuration named a file."""
        return self.api.config.kubeconfig

    def config(self, token: str = "") -> ClientConfig:
        """How a client reaches it, as the administrator or as whose token it is."""
        tls, auth = TlsSettings(), AuthSettings(token=token or self.token, over_loopback_http=True)
        if (files := self.api.credentials.tls) is not None:
            tls = TlsSettings(ca_file=files.authority.certificate)
        return ClientConfig(host=self.url, tls=tls, auth=auth)

    def client(self, token: str = "", **options: Any) -> Client:
        """A client; close it by ``async with``."""
        return Client(self.config(token), **options)


@asynccontextmanager
async def running_server(
    config: ServerConfig | None = None, clock: Clock | None = None
) -> AsyncIterator[RunningServer]:
    """Without a configuration: in memory, plain HTTP, on a free loopback port."""
    async with ApiServer(config, clock) as api:
        yield RunningServer(api)
