"""A server, its client, the controllers, and a player who does to pods what kubelets would."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from proreus.aio.clock import SystemClock
from proreus.aio.tasks import background
from proreus.api.object import KubeObject
from proreus.api.status import Conflict, NotFound
from proreus.api.values.timestamp import format_time
from proreus.client import AuthSettings, Client, ClientConfig
from proreus.client.informer import SharedInformer, SharedInformerFactory
from proreus.client.resources.resource_client import ResourceClient
from proreus.cluster.controllers import CONTROLLERS, run_controllers
from proreus.server.app import ApiServer

TIMEOUT_S = 60.0
Told: TypeAlias = list[tuple[KubeObject | None, KubeObject | None]]


@dataclass(slots=True)
class Stage:
    """``pods`` mirrors all pods; ``history`` has every state of them as it was told."""

    client: Client
    informers: SharedInformerFactory
    pods: SharedInformer
    plays: bool = True
    finishes: bool = False  # pods succeed as soon as they run
    history: Told = field(default_factory=list)

    async def wait(
        self, resource: ResourceClient, name: str, holds: Callable[[KubeObject | None], object]
    ) -> KubeObject | None:
        return await resource.wait_for(name, lambda obj: bool(holds(obj)), timeout_s=TIMEOUT_S)

    def active(self, **labels: str) -> list[KubeObject]:
        """The pods with these labels that are not going."""
        return [
            pod
            for pod in self.pods.indexer.objects()
            if all(pod.labels.get(key) == value for key, value in labels.items())
            and not pod.metadata.deletionTimestamp
        ]

    async def play(self, pod: KubeObject) -> None:
        """Let a new pod run and be ready, and a deleted one go."""
        if not self.plays:
            return
        api = self.client.core_v1.pods(pod.namespace)
        with contextlib.suppress(NotFound, Conflict):
            if pod.metadata.deletionTimestamp:
                await api.delete(pod.name, grace_period_s=0, uid=pod.uid)
            elif (pod.status or {}).get("phase") == "Pending":
                status = finished("Succeeded") if self.finishes else running()
                await api.patch_status(pod.name, status, type="strategic")


def running(*, ready: bool = True) -> dict[str, Any]:
    now = format_time(SystemClock().now())
    condition = {
        "type": "Ready",
        "status": "True" if ready else "False",
        "lastTransitionTime": now,
    }
    return {"status": {"phase": "Running", "podIP": "10.1.2.3", "conditions": [condition]}}


def finished(phase: str) -> dict[str, Any]:
    return {"status": {"phase": phase}}


def template(labels: dict[str, str], image: str = "web:1", **spec: Any) -> dict[str, Any]:
    return {
        "metadata": {"labels": labels},
        "spec": {"containers": [{"name": "main", "image": image}], **spec},
    }


def deployment(name: str, replicas: int, image: str = "web:1", **spec: Any) -> dict[str, Any]:
    labels = {"app": name}
    return {
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": template(labels, image),
            **spec,
        },
    }


@contextlib.asynccontextmanager
async def running_stage(names: Sequence[str]) -> AsyncIterator[Stage]:
    async with ApiServer() as server, connected(server) as client:
        informers = SharedInformerFactory(client)
        async with informers:
            pods = informers.informer("pods")
            stage = Stage(client, informers, pods)
            pods.add_handler(
                on_notification=lambda notification: stage.history.append(
                    (notification.old, notification.new)
                )
            )
            pods.add_handler(on_add=stage.play, on_update=lambda _, new: stage.play(new))
            informers.start()
            chosen = {name: CONTROLLERS[name] for name in names}
            async with background(run_controllers(client, SystemClock(), controllers=chosen)):
                yield stage


def connected(server: ApiServer) -> Client:
    auth = AuthSettings(token=server.token, over_loopback_http=True)
    return Client(ClientConfig(host=server.url, auth=auth, rate_limit=None, cache_dir=None))


def told_status(obj: KubeObject | None) -> Any:
    """The status, empty if there is none yet."""
    return (obj.status if obj is not None else None) or {}
