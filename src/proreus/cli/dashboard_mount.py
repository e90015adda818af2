"""The dashboard at an API server's own address, as ``proreus up`` serves it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from proreus.aio.clock import Clock
from proreus.aio.tasks import background
from proreus.client import ClientConfig, TlsSettings
from proreus.dashboard.dashboard import PREFIX, Dashboard
from proreus.server.app import ApiServer


@asynccontextmanager
async def served_dashboard(server: ApiServer, clock: Clock) -> AsyncIterator[Dashboard]:
    """While the body lasts. It trusts the server by the cluster's authority, and nobody else."""
    tls = TlsSettings(ca_data=server.credentials.authority)
    dashboard = Dashboard(ClientConfig(server.url, tls=tls), clock)
    async with background(dashboard.run()):
        with server.mounted(PREFIX, dashboard.handle):
            yield dashboard


async def dashboard_pages(server: ApiServer, dashboard: Dashboard) -> tuple[tuple[str, str], ...]:
    """What a browser may open, by name; the link logs the administrator in, once."""
    link = await dashboard.login_path(server.token)
    return (
        ("dashboard", f"{server.url}{PREFIX}/"),
        ("log in once", f"{server.url}{link}"),
    )
