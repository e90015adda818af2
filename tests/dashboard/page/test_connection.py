"""A connection that is lost is said and resumed; what is too old is listed again; many objects."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit
from uuid import uuid4

import pytest
from playwright.async_api import BrowserContext, Route

from proreus.aio.clock import SystemClock
from proreus.api.object import KubeObject
from proreus.cli.dashboard_mount import served_dashboard
from proreus.client import Client
from proreus.server.storage.memory import MemoryStorage
from proreus.testing.server import running_server
from proreus.testing.tcp_proxy import TcpProxy
from tests.dashboard.page.seen import SESSION_LOOP, Page
from tests.dashboard.page.workloads import config_map

pytestmark = SESSION_LOOP

_EXPIRED = (
    '{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",'
    '"message":"too old resource version: 1 (2)","reason":"Expired","code":410}}\n'
)
_PODS = 10_000


@dataclass(frozen=True, slots=True)
class Reached:
    """A page that reaches its server through a proxy, and a client that does not."""

    page: Page
    client: Client
    proxy: TcpProxy
    store: MemoryStorage


@asynccontextmanager
async def reached(context: BrowserContext) -> AsyncIterator[Reached]:
    async with running_server() as server, served_dashboard(server.api, SystemClock()):
        address = urlsplit(server.url)
        assert address.hostname and address.port
        async with TcpProxy(address.hostname, address.port) as proxy, server.client() as client:
            url = f"{address.scheme}://{proxy.host}:{proxy.port}"
            page = await Page.open(context, url)
            await page.log_in(server.token)
            store = server.api.parts.instruments.memory
            assert store is not None
            yield Reached(page, client, proxy, store)
            await page.tab.close()


async def test_a_lost_connection_is_said_and_resumed_where_it_was(context: BrowserContext) -> None:
    async with reached(context) as at:
        maps = at.client.core_v1.configmaps("default")
        await maps.create(config_map("before"))
        await at.page.visit("kinds/core/v1/configmaps")
        await at.page.row("before").wait_for()
        lists: list[str] = []
        at.page.tab.on("request", lambda request: lists.append(request.url))

        await at.proxy.refuse()
        at.proxy.cut()
        await at.page.sees("What you see is what was last received.", ".banner")
        await at.page.row("before").wait_for()
        await maps.create(config_map("meanwhile"))
        await maps.delete("before")
        await at.proxy.listen()

        await at.page.row("meanwhile").wait_for()
        await at.page.gone(at.page.row("before"))
        await at.page.gone(at.page.tab.locator(".banner"))
        tables = [url for url in lists if "/configmaps?" in url]
        assert tables
        assert all("watch=true" in url and "resourceVersion=" in url for url in tables)


async def test_what_is_too_old_to_resume_is_listed_again(context: BrowserContext) -> None:
    async with reached(context) as at:
        maps = at.client.core_v1.configmaps("default")
        await maps.create(config_map("before"))
        refused: list[str] = []
        again = asyncio.Event()

        async def expire(route: Route) -> None:
            if refused:
                await route.continue_()
                return
            refused.append(route.request.url)
            await maps.create(config_map("listed"))
            await route.fulfill(status=200, content_type="application/json", body=_EXPIRED)
            again.set()

        await context.route("**/configmaps?*watch=true*", expire)
        await at.page.visit("kinds/core/v1/configmaps")

        await again.wait()
        await at.page.row("listed").wait_for()
        await maps.create(config_map("after"))
        await at.page.row("after").wait_for()


async def test_a_session_that_ended_asks_for_a_token(context: BrowserContext) -> None:
    async with reached(context) as at:
        await at.page.visit("kinds/core/v1/namespaces")
        await at.page.row("kube-system").wait_for()

        await context.clear_cookies()
        await at.page.visit("kinds/core/v1/configmaps")

        await at.page.sees("The session has ended", ".failure")


async def copy(store: MemoryStorage, pod: KubeObject, names: Sequence[str]) -> None:
    """Into the store at once: ten thousand requests are not what is tested."""
    stored = await store.get(f"/registry/pods/default/{pod.name}")
    assert stored is not None
    for name in names:
        value = stored.value.replace(pod.name.encode(), name.encode())
        value = value.replace(str(pod.metadata.uid).encode(), str(uuid4()).encode())
        await store.create(f"/registry/pods/default/{name}", value)


@pytest.mark.timeout(600)
async def test_ten_thousand_pods_are_a_list_of_visible_rows(context: BrowserContext) -> None:
    async with reached(context) as at:
        pods = at.client.core_v1.pods("default")
        await at.client.core_v1.serviceaccounts("default").create({"metadata": {"name": "default"}})
        container = {"name": "main", "image": "any"}
        spec = {"containers": [container], "automountServiceAccountToken": False}
        first = await pods.create({"metadata": {"name": "many-00000"}, "spec": spec})
        await copy(at.store, first, [f"many-{index:05}" for index in range(1, _PODS)])
        await at.page.visit("kinds/core/v1/pods")
        await at.page.sees("10,000 objects", ".bar")

        assert await at.page.tab.locator(".row").count() < 100
        await at.page.tab.keyboard.press("End")
        await at.page.row("many-09999").wait_for()
        await at.page.photograph("dashboard-table", "dark")
        await at.page.tab.get_by_label("Filter").fill("many-0777")
        await at.page.sees("10 of 10,000 objects", ".bar")
        await pods.delete("many-07771")
        await at.page.gone(at.page.row("many-07771"))
        await at.page.sees("9 of 9,999 objects", ".bar")
        await at.page.visit("workloads")
        await at.page.sees("9,999 pods", ".numbers")
        assert await at.page.tab.locator(".row").count() < 100
