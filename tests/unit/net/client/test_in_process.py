"""A client in the server's process sees what one behind a socket sees."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from proreus.api.status import NotFound
from proreus.client import Client
from proreus.client.fence import Fence
from proreus.net.client.connectors import Route
from proreus.net.client.in_process import InProcessHttp
from proreus.net.client.transport_error import ConnectionLost, NotPermitted, ProtocolError
from proreus.testing.server import RunningServer, running_server


def transport_of(server: RunningServer) -> InProcessHttp:
    return InProcessHttp(server.api.parts.http)


@pytest.fixture
async def server() -> AsyncIterator[RunningServer]:
    async with running_server() as started:
        yield started


@pytest.fixture
async def client(server: RunningServer) -> AsyncIterator[Client]:
    def transport(route: Route) -> InProcessHttp:
        return InProcessHttp(server.api.parts.http, route.permit)

    async with Client(replace(server.config(), transport=transport)) as made:
        yield made


async def test_requests_are_answered_as_over_a_socket(
    server: RunningServer, client: Client
) -> None:
    maps = client.core_v1.configmaps("default")

    made = await maps.create({"metadata": {"name": "a"}, "data": {"x": "1"}})

    async with server.client() as over_socket:
        assert await over_socket.core_v1.configmaps("default").get("a") == made
    with pytest.raises(NotFound):
        await maps.get("b")


async def test_a_watch_delivers_events_until_it_is_left(client: Client) -> None:
    maps = client.core_v1.configmaps("default")
    seen: list[str] = []

    async with asyncio.timeout(60), maps.watch() as events:
        await maps.create({"metadata": {"name": "a"}})
        async for event in events:
            seen.append(f"{event.type} {event.object.name}")
            if event.object.name == "a":
                break

    assert "ADDED a" in seen


async def test_a_refused_stream_is_an_answer(server: RunningServer) -> None:
    url = f"{server.url}/api/v1/configmaps?watch=true"

    async with transport_of(server).stream("GET", url, {}, None) as answer:
        assert answer.status in (401, 403)
        assert b'"Status"' in await answer.read()


async def test_a_watch_breaks_when_its_client_is_closed(server: RunningServer) -> None:
    transport = transport_of(server)
    url = f"{server.url}/api/v1/configmaps?watch=true&resourceVersion=0"
    headers = {"Authorization": f"Bearer {server.token}"}

    async with transport.stream("GET", url, headers, None) as answer:
        reading = asyncio.create_task(_read_to_the_end(answer.next_chunk))
        await transport.close()
        with pytest.raises(ConnectionLost):
            await reading
    with pytest.raises(ConnectionLost):
        await transport.request("GET", url, headers, None)


async def _read_to_the_end(next_chunk: object) -> None:
    assert callable(next_chunk)
    while await next_chunk():
        pass


async def test_a_write_behind_a_closed_fence_is_not_sent(client: Client) -> None:
    maps = client.core_v1.configmaps("default")

    with Fence(lambda: False).around(), pytest.raises(NotPermitted):
        await maps.create({"metadata": {"name": "a"}})

    assert "a" not in [one.name for one in await maps.list()]


async def test_there_are_no_websockets(server: RunningServer) -> None:
    with pytest.raises(ProtocolError):
        transport_of(server).websocket("ws://server/exec", {}, (), message_bytes_max=1)
