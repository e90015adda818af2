"""An API server with TLS, one node whose kubelet's endpoint is real, and kubectl."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio

from proreus.aio.clock import Clock, SystemClock
from proreus.api.object import KubeObject
from proreus.client import Client
from proreus.cluster.kubelet.server import KubeletServer, endpoint_context
from proreus.cluster.kubelet.server.node_pages import NodeFacts
from proreus.server.config import ServerConfig
from proreus.testing.server import RunningServer, running_server
from tests.closing import all_closed
from tests.cluster.streams.local_streams import LocalStreams
from tests.processes import running_program

NODE = "node-1"


@dataclass(slots=True)
class Stage:
    """``pod`` makes a pod that runs on the node, as far as anybody can tell."""

    server: RunningServer
    client: Client
    kubelet: KubeletServer
    streams: LocalStreams
    pods: dict[tuple[str, str], KubeObject] = field(default_factory=dict)

    async def pod(self, name: str = "web", *containers: str, node: str = NODE) -> KubeObject:
        names = containers or ("main",)
        spec: dict[str, Any] = {"containers": [{"name": one, "image": "any"} for one in names]}
        if node:
            spec["nodeName"] = node
        body = {"metadata": {"name": name, "labels": {"app": "web"}}, "spec": spec}
        pods = self.client.core_v1.pods("default")
        made = await pods.create({"apiVersion": "v1", "kind": "Pod", **body})
        ready = [{"type": kind, "status": "True"} for kind in ("Ready", "ContainersReady")]
        status = {"phase": "Running" if node else "Pending", "conditions": ready}
        made = await pods.patch_status(name, {"status": status})
        self.pods["default", name] = made
        for one in names:
            self.streams.log(made.uid, one)
        return made

    async def set_status(self, pod: KubeObject, status: dict[str, Any]) -> None:
        pods = self.client.core_v1.pods(pod.namespace)
        self.pods[pod.namespace, pod.name] = await pods.patch_status(pod.name, {"status": status})

    async def point_node_to(self, port: int, host: str = "127.0.0.1") -> None:
        status = {
            "addresses": [{"type": "InternalIP", "address": host}],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": port}},
        }
        await self.client.core_v1.nodes.patch_status(NODE, {"status": status})


@dataclass(frozen=True, slots=True)
class Done:
    code: int
    out: str
    err: str


Kubectl = Callable[..., Awaitable[Done]]
KubectlProcess = Callable[..., contextlib.AbstractAsyncContextManager[asyncio.subprocess.Process]]


@pytest_asyncio.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    async with staged(tmp_path, SystemClock()) as made:
        yield made


@contextlib.asynccontextmanager
async def staged(tmp_path: Path, clock: Clock) -> AsyncIterator[Stage]:
    streams = LocalStreams()
    config = ServerConfig(data_dir=tmp_path, tls=True, kubeconfig=tmp_path / "kubeconfig")
    pods: dict[tuple[str, str], KubeObject] = {}
    async with contextlib.AsyncExitStack() as parts:
        server = await parts.enter_async_context(running_server(config, clock))
        # On real time: what is late in these tests is late at the server.
        client = await parts.enter_async_context(server.client(clock=SystemClock()))
        tls = endpoint_context(server.config(), ["127.0.0.1"], folder=None, now=clock.now())
        assert tls is not None
        kubelet = KubeletServer(
            clock=clock,
            find_pod=lambda namespace, name: pods.get((namespace, name)),
            list_pods=pods.values,
            streams_of=lambda node: streams,
            describe=lambda name: NodeFacts(
                name=name,
                capacity={"memory": "1Ki", "pods": "7"},
                begun=0.0,
                is_idle=True,
                pods=[pod for pod in pods.values() if pod.spec.nodeName == name],
            ),
            tls=tls,
        )
        await parts.enter_async_context(kubelet.run())
        made = Stage(server, client, kubelet, streams, pods)
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": NODE}}
        await client.core_v1.nodes.create(node)
        await made.point_node_to(kubelet.port)
        yield made
    await all_closed()


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return {**os.environ, "KUBECONFIG": str(tmp_path / "kubeconfig"), "HOME": str(tmp_path)}


@pytest.fixture
def kubectl_path() -> str:
    found = shutil.which("kubectl")
    if found is None:
        pytest.skip("kubectl is not installed (Debian: kubernetes-client)")
    return found


@pytest.fixture
def kubectl(kubectl_path: str, environment: dict[str, str]) -> Kubectl:
    async def run(*arguments: str, stdin: bytes | None = None, **env: str) -> Done:
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            kubectl_path,
            *arguments,
            stdin=asyncio.subprocess.DEVNULL if stdin is None else pipe,
            stdout=pipe,
            stderr=pipe,
            env=environment | env,
        )
        async with asyncio.timeout(60):
            out, err = await process.communicate(stdin)
        assert process.returncode is not None
        return Done(process.returncode, out.decode("utf-8", "replace"), err.decode())

    return run


@pytest.fixture
def kubectl_process(kubectl_path: str, environment: dict[str, str]) -> KubectlProcess:
    return partial(running_program, kubectl_path, env=environment)


@pytest_asyncio.fixture
async def http(stage: Stage) -> AsyncIterator[httpx.AsyncClient]:
    """The administrator, by plain HTTP."""
    files = stage.server.api.credentials.tls
    assert files is not None
    trust = ssl.create_default_context(cafile=str(files.authority.certificate))
    headers = {"Authorization": f"Bearer {stage.server.token}"}
    async with httpx.AsyncClient(
        base_url=stage.server.url, verify=trust, headers=headers, timeout=60
    ) as one:
        yield one
