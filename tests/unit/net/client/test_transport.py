"""What every transport of a client does: over sockets, and to a server in the same process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

import pytest

from proreus.api.wire import json
from proreus.net.client.connectors import Route
from proreus.net.client.http_client import HttpClient
from proreus.net.client.in_process import InProcessHttp
from proreus.net.client.transport import Transport
from proreus.net.client.transport_error import ConnectionLost, NotPermitted
from proreus.testing.server import RunningServer, running_server

PATH = "/api/v1/namespaces/default/configmaps"
JSON = {"Content-Type": "application/json"}


@dataclass
class Scene:
    server: RunningServer
    make: Callable[[Route], Transport]

    def url(self, path: str) -> str:
        return f"{self.server.url}{path}"

    @property
    def token(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.server.token}"}


@pytest.fixture(params=["sockets", "in process"])
async def scene(request: pytest.FixtureRequest) -> AsyncIterator[Scene]:
    async with running_server() as server:
        if request.param == "sockets":
            yield Scene(server, HttpClient)
        else:
            yield Scene(server, lambda route: InProcessHttp(server.api.parts.http, route.permit))


@pytest.fixture
async def transport(scene: Scene) -> AsyncIterator[Transport]:
    made = scene.make(Route())
    yield made
    await made.close()


def config_map(name: str) -> bytes:
    return json.encode({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}})


async def test_a_whole_answer_has_its_status_headers_and_body(
    scene: Scene, transport: Transport
) -> None:
    made = await transport.request(
        "POST", scene.url(PATH), {**scene.token, **JSON}, config_map("a")
    )
    found = await transport.request("GET", scene.url(f"{PATH}/a"), scene.token, None)
    missing = await transport.request("GET", scene.url(f"{PATH}/b"), scene.token, None)

    assert (made.status, found.status, missing.status) == (201, 200, 404)
    assert found.headers.get("content-TYPE") == "application/json"
    assert json.decode(found.body) == json.decode(made.body)
    assert json.decode(missing.body)["reason"] == "NotFound"


async def test_a_stream_delivers_what_happens_and_is_left_in_the_middle(
    scene: Scene, transport: Transport
) -> None:
    url = scene.url(f"{PATH}?watch=true&fieldSelector=metadata.name%3Da")
    async with asyncio.timeout(60), transport.stream("GET", url, scene.token, None) as watching:
        assert watching.status == 200
        await transport.request("POST", scene.url(PATH), {**scene.token, **JSON}, config_map("a"))
        seen = b""
        while b'"ADDED"' not in seen:
            piece = await watching.next_chunk()
            assert piece, "the watch goes on"
            seen += piece

    found = await transport.request("GET", scene.url(f"{PATH}/a"), scene.token, None)
    assert found.status == 200


async def test_a_stream_that_is_refused_is_an_answer_with_a_body(
    scene: Scene, transport: Transport
) -> None:
    url = scene.url(f"{PATH}?watch=true")
    async with transport.stream("GET", url, {}, None) as refused:
        assert refused.status in (401, 403)
        assert json.decode(await refused.read())["kind"] == "Status"


async def test_a_write_without_permission_is_not_sent(scene: Scene) -> None:
    transport = scene.make(Route(permit=lambda: False))
    with pytest.raises(NotPermitted):
        await transport.request("POST", scene.url(PATH), {**scene.token, **JSON}, config_map("a"))
    found = await transport.request("GET", scene.url(f"{PATH}/a"), scene.token, None)
    await transport.close()

    assert found.status == 404


async def test_after_its_end_nothing_is_asked(scene: Scene, transport: Transport) -> None:
    await transport.close()

    with pytest.raises(ConnectionLost):
        await transport.request("GET", scene.url(PATH), scene.token, None)
    with pytest.raises(ConnectionLost):
        async with transport.stream("GET", scene.url(PATH), scene.token, None):
            pass


@pytest.mark.parametrize("end", ["retire", "close"])
async def test_an_end_breaks_streams_off(scene: Scene, transport: Transport, end: str) -> None:
    url = scene.url(f"{PATH}?watch=true&resourceVersion=0")
    async with transport.stream("GET", url, scene.token, None) as watching:
        await (transport.retire() if end == "retire" else transport.close())
        with pytest.raises(ConnectionLost):
            async with asyncio.timeout(60):
                while await watching.next_chunk():
                    pass


async def test_a_caller_that_leaves_does_not_disturb_the_next(
    scene: Scene, transport: Transport
) -> None:
    asking = asyncio.create_task(transport.request("GET", scene.url(PATH), scene.token, None))
    await asyncio.sleep(0)
    asking.cancel()
    await asyncio.wait([asking])

    found = await transport.request("GET", scene.url("/version"), scene.token, None)
    assert json.decode(found.body)["major"] == "1"
