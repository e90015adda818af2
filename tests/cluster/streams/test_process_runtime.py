"""kubectl, the API server, the kubelet's endpoint and real containers' processes: all of it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest_asyncio

from proreus.aio.clock import SystemClock
from proreus.aio.tasks import background
from proreus.client import Client
from proreus.cluster.kubelet.kubelet import Kubelet
from proreus.cluster.kubelet.settings import KubeletSettings
from proreus.server.config import ServerConfig
from proreus.testing.server import running_server
from tests.cluster.streams.conftest import Kubectl, KubectlProcess
from tests.cluster.streams.test_port_forward import BODY, Web, get, local_port, web  # noqa: F401

NODE = "node-1"


@pytest_asyncio.fixture
async def client(tmp_path: Path) -> AsyncIterator[Client]:
    clock = SystemClock()
    config = ServerConfig(data_dir=tmp_path, tls=True, kubeconfig=tmp_path / "kubeconfig")
    settings = KubeletSettings(runtime="process", folder=tmp_path / "kubelet")
    async with contextlib.AsyncExitStack() as parts:
        server = await parts.enter_async_context(running_server(config, clock))
        client = await parts.enter_async_context(server.client())
        kubelet = Kubelet(client, clock, [NODE], settings)
        await parts.enter_async_context(background(kubelet.run()))
        await client.core_v1.nodes.wait_for(NODE, "condition=Ready", timeout_s=60)
        yield client
        pods = client.core_v1.pods("default")
        for pod in await pods.list():
            await pods.delete(pod.name, grace_period_s=0)
            await pods.wait_deleted(pod.name, timeout_s=60)


async def run(client: Client, script: str, *, until: str = "condition=Ready", **more: Any) -> None:
    container = {"name": "main", "image": "any", "command": ["sh", "-c", script], **more}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web"},
        "spec": {"nodeName": NODE, "containers": [container]},
    }
    pods = client.core_v1.pods("default")
    await pods.create(pod)
    await pods.wait_for("web", until, timeout_s=60)


async def test_logs_of_a_running_container(
    client: Client, kubectl: Kubectl, kubectl_process: KubectlProcess
) -> None:
    await run(client, "echo one; echo two >&2; read word; echo $word; read end", stdin=True)
    async with kubectl_process("logs", "-f", "web") as process:
        assert process.stdout
        seen = {await process.stdout.readline(), await process.stdout.readline()}
        async with client.core_v1.pods("default").attach("web", stdin=True) as attached:
            await attached.write(b"three\n")
            assert (await anext(aiter(attached))).payload == b"three\n"
        assert await process.stdout.readline() == b"three\n"

    last = await kubectl("logs", "web", "--tail", "1")

    assert seen == {b"one\n", b"two\n"}
    assert last.out == "three\n"


async def test_the_log_of_the_life_before(client: Client, kubectl: Kubectl) -> None:
    def restarted(pod: Any) -> bool:
        status = (pod.get("status") or {}) if pod is not None else {}
        return any(one["restartCount"] for one in status.get("containerStatuses") or ())

    container = {
        "name": "main",
        "image": "any",
        "command": [
            "sh",
            "-c",
            "test -e ../seen || { touch ../seen; echo first; exit 1; }; sleep 60",
        ],
    }
    pods = client.core_v1.pods("default")
    spec = {"nodeName": NODE, "containers": [container]}
    await pods.create(
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}, "spec": spec}
    )
    await pods.wait_for("web", restarted, timeout_s=60)

    done = await kubectl("logs", "web", "--previous")

    assert (done.code, done.out) == (0, "first\n")


async def test_commands_in_a_container(client: Client, kubectl: Kubectl) -> None:
    await run(client, "sleep 600", env=[{"name": "WHO", "value": "me"}])

    said = await kubectl("exec", "web", "--", "sh", "-c", "echo $WHO; exit 6")
    fed = await kubectl("exec", "-i", "web", "--", "wc", "-c", stdin=bytes(100_000))

    assert (said.code, said.out) == (6, "me\n")
    assert (fed.code, fed.out.strip()) == (0, "100000")


async def test_a_port_of_a_pod(
    client: Client,
    web: Web,  # noqa: F811
    kubectl_process: KubectlProcess,
) -> None:
    await run(client, "sleep 600")

    async with kubectl_process("port-forward", "web", f":{web.port}") as process:
        bodies = await asyncio.gather(*[get(await local_port(process))])

    assert bodies == [BODY]
