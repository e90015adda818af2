"""What webhooks and policies make of connections is what is connected."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest
import pytest_asyncio
from aiohttp import web

from proreus.client import Client
from proreus.server.config import ServerConfig
from proreus.testing.server import RunningServer, running_server
from tests.admission.policies import bind, mutate, rule, validate
from tests.admission.webhooks import CONFIG_MAPS, WebhookProcess, configure
from tests.https_server import HttpsServer

POD = {
    "metadata": {"name": "a"},
    "spec": {
        "nodeName": "n1",
        "containers": [{"name": "c", "image": "x"}, {"name": "d", "image": "x"}],
    },
}
PROTOCOLS = ("v5.channel.k8s.io", "SPDY/3.1+portforward.k8s.io")


@pytest.fixture
def name() -> str:
    return f"hook-{uuid.uuid4().hex[:12]}"


class Kubelet:
    """A node's, that answers nothing useful and remembers what it was asked."""

    def __init__(self, server: HttpsServer) -> None:
        self.asked: list[tuple[str, list[tuple[str, str]]]] = []
        for path in ("/exec/default/a/c", "/exec/default/a/d", "/portForward/default/a", "/told"):
            server.pages[path] = self._answer

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        self.asked.append((request.path, list(request.query.items())))
        return web.Response(text="here")


@pytest_asyncio.fixture
async def node() -> AsyncIterator[tuple[RunningServer, Client, Kubelet]]:
    """A server that trusts any kubelet's certificate, and a pod on a node."""
    async with (
        HttpsServer().running() as https,
        running_server(ServerConfig()) as server,
        server.client() as client,
    ):
        port = int(https.url.rpartition(":")[2])
        status = {
            "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": port}},
        }
        await client.core_v1.nodes.create({"metadata": {"name": "n1"}, "status": status})
        await client.core_v1.pods("default").create(POD)
        yield server, client, Kubelet(https)


async def change(
    client: Client, process: WebhookProcess, name: str, patch: list[dict[str, Any]]
) -> None:
    rule = {**CONFIG_MAPS, "operations": ["CONNECT"], "resources": ["pods/*", "nodes/*"]}
    process.behave(name, {"patch": patch})
    await configure(client, "Mutating", process.hook(name, rule))


async def connect(server: RunningServer, path: str) -> None:
    """Until the server is done with it, however that ends."""
    headers = {"Authorization": f"Bearer {server.token}"}
    url = f"{server.url}/api/v1/namespaces/default/pods/a/{path}"
    async with aiohttp.ClientSession(headers=headers) as session:
        try:
            async with session.ws_connect(url, protocols=PROTOCOLS) as socket:
                async for _ in socket:
                    pass
        except aiohttp.WSServerHandshakeError:
            pass


async def test_a_command_runs_in_the_container_and_with_the_words_that_a_webhook_chose(
    node: tuple[RunningServer, Client, Kubelet], process: WebhookProcess, name: str
) -> None:
    server, client, kubelet = node
    await change(
        client,
        process,
        name,
        [
            {"op": "replace", "path": "/container", "value": "d"},
            {"op": "replace", "path": "/command", "value": ["id", "-u"]},
            {"op": "remove", "path": "/stdin"},
        ],
    )

    await connect(server, "exec?command=sh&container=c&stdin=true&stdout=true")

    (asked,) = kubelet.asked
    assert asked == (
        "/exec/default/a/d",
        [("output", "1"), ("command", "id"), ("command", "-u")],
    )


async def test_policies_see_and_change_what_is_asked_of_a_connection(
    node: tuple[RunningServer, Client, Kubelet],
) -> None:
    server, client, kubelet = node
    connections = {"resourceRules": [rule("pods/exec", operations=["CONNECT"])]}
    patch = '[JSONPatch{op: "replace", path: "/container", value: "d"}]'
    await mutate(client, patch, matchConstraints=connections)
    await bind(client, "Mutating")
    allowed = "object.container == 'd' && object.command != ['rm']"
    await validate(client, allowed, matchConstraints=connections)
    await bind(client, "Validating")

    await connect(server, "exec?command=rm&container=c")
    await connect(server, "exec?command=ls&container=c")

    assert kubelet.asked == [("/exec/default/a/d", [("command", "ls")])]


async def test_ports_are_those_that_a_webhook_left(
    node: tuple[RunningServer, Client, Kubelet], process: WebhookProcess, name: str
) -> None:
    server, client, kubelet = node
    await change(client, process, name, [{"op": "replace", "path": "/ports", "value": [80]}])

    await connect(server, "portforward?ports=22,80")

    assert kubelet.asked == [("/portForward/default/a", [("port", "80")])]


async def test_a_proxied_request_goes_where_a_webhook_sent_it_with_its_query(
    node: tuple[RunningServer, Client, Kubelet], process: WebhookProcess, name: str
) -> None:
    server, client, kubelet = node
    await change(client, process, name, [{"op": "replace", "path": "/path", "value": "/told"}])
    headers = {"Authorization": f"Bearer {server.token}"}

    async with aiohttp.ClientSession(headers=headers) as session:
        url = f"{server.url}/api/v1/nodes/n1/proxy/asked?a=b"
        async with session.get(url) as answer:
            assert await answer.text() == "here"

    assert kubelet.asked == [("/told", [("a", "b")])]


@pytest.mark.parametrize(
    "value", [{"path": "/container", "value": 5}, {"path": "/command", "value": "id"}]
)
async def test_what_is_no_option_is_refused_and_nothing_is_connected(
    node: tuple[RunningServer, Client, Kubelet],
    process: WebhookProcess,
    name: str,
    value: dict[str, Any],
) -> None:
    server, client, kubelet = node
    await change(client, process, name, [{"op": "add", **value}])

    await connect(server, "exec?command=sh&container=c")

    assert kubelet.asked == []
