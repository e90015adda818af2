"""An API server with TLS and a node of real processes, both in the test's own process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest_asyncio

from proreus.aio.clock import SystemClock
from proreus.aio.tasks import background
from proreus.client import Client, KubeObject
from proreus.cluster.kubelet.kubelet import Kubelet
from proreus.cluster.kubelet.settings import KubeletSettings
from proreus.server.config import ServerConfig
from proreus.testing.server import RunningServer, running_server

NODE = "machine"
Condition = Callable[[KubeObject], bool]


async def until_so(holds: Callable[[], bool]) -> None:
    """Wait for something about files, which nobody announces."""
    async with asyncio.timeout(60):
        while not holds():  # noqa: ASYNC110
            await asyncio.sleep(0.02)


@dataclass(frozen=True, slots=True)
class Stage:
    """``run`` makes a pod on the node; ``until`` waits for what becomes of it."""

    server: RunningServer
    client: Client
    folder: Path

    async def run(self, name: str, *containers: dict[str, Any], **spec: Any) -> KubeObject:
        named = [
            {"name": f"c{number}", "image": "none", **content}
            for number, content in enumerate(containers, 1)
        ]
        return await self.client.core_v1.pods("default").create(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": name, "namespace": "default", "labels": {"app": name}},
                "spec": {"nodeName": NODE, "containers": named, **spec},
            }
        )

    async def until(self, name: str, met: Condition) -> KubeObject:
        found = await self.client.core_v1.pods("default").wait_for(
            name,
            lambda pod: pod is not None and pod.status is not None and met(pod),
            timeout_s=60,
        )
        assert found is not None
        return found

    async def phase(self, name: str, phase: str) -> KubeObject:
        return await self.until(name, lambda pod: bool(pod.status.phase == phase))

    async def ready(self, name: str) -> KubeObject:
        found = await self.client.core_v1.pods("default").wait_for(
            name, "condition=Ready", timeout_s=60
        )
        assert found is not None
        return found

    async def delete(self, name: str, grace_s: int | None = None) -> None:
        pods = self.client.core_v1.pods("default")
        await pods.delete(name, grace_period_s=grace_s)
        await pods.wait_deleted(name, timeout_s=60)

    async def logs(self, name: str, container: str = "", **options: Any) -> str:
        return await self.client.core_v1.pods("default").logs(name, container=container, **options)

    async def wrote(self, name: str, line: str) -> None:
        """Until the pod's log has this line: a container is ready before its program has begun."""
        await self.until(name, lambda pod: bool(pod.status.containerStatuses and _began(pod)))
        pods = self.client.core_v1.pods("default")
        async with asyncio.timeout(60), pods.follow_logs(name) as lines:
            async for one in lines:
                if one == line:
                    return
        raise AssertionError(f"{name} ended without writing {line!r}")

    async def config_map(self, name: str, **content: str) -> None:
        body = {"metadata": {"name": name}, "data": content}
        await self.client.core_v1.configmaps("default").create(
            {"apiVersion": "v1", "kind": "ConfigMap", **body}
        )

    async def saw(self, reason: str, text: str = "") -> str:
        """An event with this reason; its message. Those that were come first, then the new ones."""
        async with asyncio.timeout(60), self.client.core_v1.events("default").watch() as events:
            async for event in events:
                found = event.object
                if (
                    event.type != "BOOKMARK"
                    and found.reason == reason
                    and text in str(found.message)
                ):
                    return str(found.message)
        raise AssertionError(f"no event {reason}")

    async def wait_cleared(self, pod: KubeObject) -> None:
        """Until nothing of the pod is on disk."""
        folder = self.folder / NODE / "pods" / pod.uid
        await until_so(lambda: not folder.exists())

    def root(self, pod: KubeObject, container: str = "c1") -> Path:
        return self.folder / NODE / "pods" / pod.uid / "containers" / container / "root"


def shell(script: str, **content: Any) -> dict[str, Any]:
    """A dollar sign of the shell's own is written twice: the first is Kubernetes'."""
    return {"command": ["sh", "-c", script], **content}


def state(pod: KubeObject, container: str = "c1") -> Any:
    statuses = [*(pod.status.initContainerStatuses or ()), *(pod.status.containerStatuses or ())]
    return next(status for status in statuses if status.name == container)


def _began(pod: KubeObject) -> bool:
    """A container that still waits has no log to follow."""
    return state(pod).state.waiting is None


@pytest_asyncio.fixture
async def server(tmp_path: Path) -> AsyncIterator[RunningServer]:
    config = ServerConfig(data_dir=tmp_path, tls=True, kubeconfig=tmp_path / "kubeconfig")
    async with running_server(config) as running:
        yield running


@pytest_asyncio.fixture
async def stage(server: RunningServer, tmp_path: Path) -> AsyncIterator[Stage]:
    folder = tmp_path / "kubelet"
    async with Client(replace(server.config(), rate_limit=None)) as client:
        settings = KubeletSettings("process", folder)
        async with background(Kubelet(client, SystemClock(), [NODE], settings).run()):
            await client.core_v1.nodes.wait_for(NODE, "condition=Ready", timeout_s=60)
            yield Stage(server, client, folder)
