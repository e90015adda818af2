"""What others write while a kubelet writes a status is not missed."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from proreus.aio.tasks import background
from proreus.client import Client, NotFound
from proreus.cluster.kubelet.kubelet import Kubelet
from proreus.testing.server import RunningServer, running_server
from proreus.testing.virtual_clock import VirtualClock

POD = {
    "metadata": {"name": "web", "namespace": "default"},
    "spec": {"nodeName": "n", "containers": [{"name": "c", "image": "i"}]},
}


async def tolerate(client: Client, taint: str) -> None:
    """Change the spec by what may be added to it."""
    pods = client.core_v1.pods("default")
    changed = (await pods.get("web")).to_dict()
    changed["spec"]["tolerations"].append({"key": taint, "operator": "Exists"})
    await pods.replace(changed)


@pytest.fixture
async def server() -> AsyncIterator[RunningServer]:
    async with running_server(clock=VirtualClock()) as running:
        yield running


@pytest.fixture
async def client(server: RunningServer) -> AsyncIterator[Client]:
    """Of somebody whose pod runs, and whose next status is written late."""
    async with (
        server.client(user_agent="kubelet/1.0") as nodes,
        server.client(user_agent="tester/1.0") as tester,
        background(Kubelet(nodes, server.clock, ["n"]).run()),
    ):
        await server.advance("5s")
        await tester.core_v1.pods.create(POD)
        await server.advance("5s")
        server.delay("patch", "pods/status", "3s", times=1)
        await tolerate(tester, "first")
        await server.advance("1s")
        yield tester


async def test_a_deletion(server: RunningServer, client: Client) -> None:
    await client.core_v1.pods("default").delete("web")

    await server.advance("60s")

    with pytest.raises(NotFound):
        await client.core_v1.pods("default").get("web")


async def test_another_spec(server: RunningServer, client: Client) -> None:
    await tolerate(client, "second")

    await server.advance("60s")

    found = await client.core_v1.pods("default").get("web")
    assert found["status"]["observedGeneration"] == found.metadata.generation == 3
