"""Watches of custom objects over WebSocket, and what a changed definition does to running ones."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import orjson

from proreus.client import Client
from proreus.client.informer import SharedInformerFactory
from proreus.testing.server import RunningServer
from tests.custom.asking import PATIENCE_S, define, redefine, widgets
from tests.custom.conversion_server import conversion_server
from tests.custom.definitions import INTEGER, TEXT, definition, version, widget

_PATH = "/apis/example.com/{}/namespaces/default/widgets?watch=1"


@asynccontextmanager
async def websocket(
    server: RunningServer, *, of_version: str = "v1", after: str = ""
) -> AsyncIterator[aiohttp.ClientWebSocketResponse]:
    headers = {"Authorization": f"Bearer {server.token}"}
    url = server.url + _PATH.format(of_version) + (f"&resourceVersion={after}" if after else "")
    async with (
        asyncio.timeout(PATIENCE_S),
        aiohttp.ClientSession(headers=headers) as session,
        session.ws_connect(url, origin=server.url) as opened,
    ):
        yield opened


async def event(socket: aiohttp.ClientWebSocketResponse) -> tuple[str, dict[str, Any]]:
    frame = orjson.loads(await socket.receive_str())
    return frame["type"], frame["object"]


async def test_every_change_is_a_message(server: RunningServer, client: Client) -> None:
    await define(client, definition(version(spec={"size": INTEGER})))

    async with websocket(server) as socket:
        await widgets(client).create(widget("a", spec={"size": 1}))
        await widgets(client).patch("a", {"spec": {"size": 2}})
        await widgets(client).delete("a")
        seen = [await event(socket) for _ in range(3)]

    assert [(kind, obj["spec"]["size"]) for kind, obj in seen] == [
        ("ADDED", 1),
        ("MODIFIED", 2),
        ("DELETED", 2),
    ]
    assert {(obj["apiVersion"], obj["kind"]) for _, obj in seen} == {("example.com/v1", "Widget")}


async def test_a_webhooks_versions_are_messages_too(server: RunningServer, client: Client) -> None:
    with conversion_server() as hook:
        measured = {"dimensions": {"type": "object", "properties": {"size": INTEGER}}}
        body = definition(
            version(spec={"size": INTEGER}), version("v2", storage=False, spec=measured)
        )
        body["spec"]["conversion"] = hook.conversion()
        await define(client, body)

        async with websocket(server, of_version="v2") as socket:
            await widgets(client).create(widget("a", spec={"size": 1}))
            kind, obj = await event(socket)

    assert (kind, obj["apiVersion"], obj["spec"]) == (
        "ADDED",
        "example.com/v2",
        {"dimensions": {"size": 1}},
    )


async def test_a_changed_definition_closes_it_normally_and_it_resumes(
    server: RunningServer, client: Client
) -> None:
    await define(client, definition(version(spec={"size": INTEGER})))
    await widgets(client).create(widget("a", spec={"size": 1}))

    async with websocket(server) as socket:
        _, seen = await event(socket)
        await redefine(client, definition(version(spec={"size": INTEGER, "color": TEXT})))
        last = await socket.receive()
    await widgets(client).create(widget("b", spec={"color": "red"}))
    async with websocket(server, after=seen["metadata"]["resourceVersion"]) as socket:
        kind, obj = await event(socket)

    assert last.type in (aiohttp.WSMsgType.CLOSE, aiohttp.WSMsgType.CLOSED)
    assert socket.close_code in (1000, None)
    assert (kind, obj["metadata"]["name"]) == ("ADDED", "b")


async def test_a_watch_resumes_where_a_changed_definition_ended_it(
    client: Client,
) -> None:
    await define(client, definition(version(spec={"size": INTEGER})))
    made = await widgets(client).create(widget("a", spec={"size": 1}))
    query = f"&resourceVersion={made.resource_version}"
    reading = asyncio.create_task(client.get_raw(_PATH.format("v1") + query))

    async with asyncio.timeout(PATIENCE_S):
        number = 0
        while not reading.done():  # the first change may come before the watch
            number += 1
            fields = {f"more{number}": TEXT, "size": INTEGER}
            await redefine(client, definition(version(spec=fields)))
            await asyncio.wait((reading,), timeout=0.2)
        assert await reading == b""
        await widgets(client).patch("a", {"spec": {"size": 2}})
        async with widgets(client).watch(resource_version=made.resource_version) as events:
            async for change in events:
                if change.type != "BOOKMARK":
                    break

    assert (change.type, change.object["spec"]["size"]) == ("MODIFIED", 2)


async def test_a_watch_of_a_removed_definition_ends(server: RunningServer, client: Client) -> None:
    await define(client, definition(version(spec={"size": INTEGER})))
    definitions = client.resource("customresourcedefinitions.v1.apiextensions.k8s.io")

    async with websocket(server) as socket:
        await widgets(client).create(widget("a"))
        await definitions.delete("widgets.example.com")
        seen = [await event(socket) for _ in range(1)]
        messages = [message async for message in socket]

    assert seen[0][0] == "ADDED"
    assert [orjson.loads(message.data)["type"] for message in messages] in (["DELETED"], [])


async def test_an_informer_misses_nothing_while_its_definition_changes_again_and_again(
    client: Client,
) -> None:
    await define(client, definition(version(spec={"size": INTEGER})))
    seen: dict[str, Any] = {}
    complete = asyncio.Event()

    def note(obj: Any) -> None:
        seen[obj.name] = obj["spec"]["size"]
        if len(seen) == 10 and all(size == 2 for size in seen.values()):
            complete.set()

    async with SharedInformerFactory(client) as informers, asyncio.timeout(3 * PATIENCE_S):
        informer = informers.informer("widgets.v1.example.com")
        informer.add_handler(on_add=note, on_update=lambda old, new: note(new))
        informers.start()
        for number in range(10):
            await widgets(client).create(widget(f"w{number}", spec={"size": 1}))
            fields = {"size": INTEGER, f"more{number}": TEXT}
            await redefine(client, definition(version(spec=fields)))
            await widgets(client).patch(f"w{number}", {"spec": {"size": 2}})
        await complete.wait()

    assert len(seen) == 10
