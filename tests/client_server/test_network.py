"""The client behind a network that misbehaves: every fault is found and named."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from urllib.parse import urlsplit

import pytest
import pytest_asyncio

from proreus.client import (
    Client,
    ConnectionLost,
    ConnectionRefused,
    InternalError,
    RetryPolicy,
    StreamSilent,
    TransportError,
    TransportTimeout,
)
from proreus.net.addresses import is_loopback
from proreus.testing.tcp_proxy import TcpProxy


@pytest_asyncio.fixture
async def proxy(client: Client) -> AsyncIterator[TcpProxy]:
    address = urlsplit(client.config.host)
    assert address.hostname is not None
    async with TcpProxy(address.hostname, address.port or 443) as running:
        yield running


@pytest_asyncio.fixture
async def behind(client: Client, proxy: TcpProxy) -> AsyncIterator[Client]:
    """A client that reaches the server only through the proxy and does not repeat anything."""
    config = replace(client.config, host=f"https://127.0.0.1:{proxy.port}", timeout_s=60.0)
    name = urlsplit(client.config.host).hostname or ""
    if not config.tls.server_name and not is_loopback(name):
        config = replace(config, tls=replace(config.tls, server_name=name))
    async with Client(config, retry=RetryPolicy(retries_max=0)) as connected:
        yield connected


async def test_a_cut_watch_is_lost_loudly_and_a_new_one_resumes(
    behind: Client, client: Client, proxy: TcpProxy
) -> None:
    maps = behind.core_v1.configmaps(behind.namespace)
    start = (await maps.list()).resource_version

    with pytest.raises(ConnectionLost):
        async with maps.watch(resource_version=start) as events:
            proxy.cut()
            async for event in events:
                assert event.type == "BOOKMARK"
    made = await client.core_v1.configmaps(client.namespace).create({"metadata": {"name": "a"}})
    async with maps.watch(resource_version=start) as events:
        event = await anext(events)

    assert event.object == made


async def test_a_connection_closed_by_the_way_is_lost_too(behind: Client, proxy: TcpProxy) -> None:
    with pytest.raises(ConnectionLost):
        async with behind.core_v1.pods.watch() as events:
            proxy.close()
            async for _ in events:
                pass


@pytest.mark.parametrize("fault", ["black_hole", "half_open"])
async def test_a_stream_that_says_nothing_is_found(
    behind: Client, proxy: TcpProxy, fault: str
) -> None:
    """Guarantee: alive or loud."""
    with pytest.raises(StreamSilent):
        async with behind.core_v1.pods.watch(silence_max_s=0.1) as events:
            getattr(proxy, fault)()
            async for event in events:
                assert event.type == "BOOKMARK"


async def test_garbage_is_an_error_and_not_an_event(behind: Client, proxy: TcpProxy) -> None:
    with pytest.raises((TransportError, InternalError)):
        async with behind.core_v1.pods.watch() as events:
            proxy.garbage()
            async for event in events:
                assert event.type == "BOOKMARK"


async def test_a_request_into_a_black_hole_ends_at_its_deadline(
    client: Client, proxy: TcpProxy
) -> None:
    proxy.black_hole()
    config = replace(client.config, host=f"https://127.0.0.1:{proxy.port}", timeout_s=0.1)
    async with Client(config) as hurried:
        with pytest.raises(TransportTimeout):
            await hurried.core_v1.pods.list()


async def test_a_server_that_is_away_is_refused_and_then_back(
    behind: Client, proxy: TcpProxy
) -> None:
    await proxy.refuse()
    with pytest.raises(ConnectionRefused):
        await behind.core_v1.pods.list()
    await proxy.listen()

    assert (await behind.core_v1.pods.list()).items == []


async def test_slow_bytes_are_still_whole(behind: Client, client: Client, proxy: TcpProxy) -> None:
    await client.core_v1.configmaps(client.namespace).create(
        {"metadata": {"name": "a"}, "data": {"k": "x" * 50_000}}
    )
    proxy.slow(500_000)

    found = await behind.core_v1.configmaps(behind.namespace).get("a")
    assert found["data"]["k"] == "x" * 50_000


async def test_an_answer_cut_in_the_middle_is_lost(
    behind: Client, client: Client, proxy: TcpProxy
) -> None:
    maps = behind.core_v1.configmaps(behind.namespace)
    await client.core_v1.configmaps(client.namespace).create(
        {"metadata": {"name": "a"}, "data": {"k": "x" * 50_000}}
    )
    await maps.list(limit=1)
    proxy.cut_after(20_000)

    with pytest.raises(ConnectionLost):
        await maps.get("a")


async def test_waiting_survives_all_of_it(client: Client, proxy: TcpProxy) -> None:
    maps = client.core_v1.configmaps(client.namespace)
    config = replace(client.config, host=f"https://127.0.0.1:{proxy.port}")
    async with Client(config) as behind, asyncio.TaskGroup() as tasks:
        waiting = tasks.create_task(
            behind.core_v1.configmaps(behind.namespace).wait_for("a", "create", timeout_s=60)
        )
        while not proxy.open_connections:
            await client.get_raw("/livez")
        proxy.cut()
        await maps.create({"metadata": {"name": "a"}})

    found = waiting.result()
    assert found is not None and found.name == "a"
