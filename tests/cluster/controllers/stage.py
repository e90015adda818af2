"""A server, its client, the controllers, and a player who does to pods what kubelets would."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from proreus.aio.clock import Clock, SystemClock
from proreus.aio.tasks import background
from proreus.api.object import KubeObject
from proreus.api.object_list import ObjectList
from proreus.api.status import Conflict, NotFound
from proreus.api.values.timestamp import format_time
from proreus.client import AuthSettings, Client, ClientConfig
from proreus.client.informer import SharedInformerFactory
from proreus.client.resources.resource_client import ResourceClient
from proreus.cluster.controllers import CONTROLLERS, run_controllers
from proreus.server.app import ApiServer
from tests.following import TIMEOUT_S, Change, changes_since, wait_for_list

MARKERS = "kube-system"  # where no test has pods of its own


@dataclass(slots=True)
class Stage:
    """``start`` is where ``history`` begins."""

    client: Client
    start: ObjectList
    plays: bool = True
    finishes: bool = False  # pods succeed as soon as they run

    async def wait(
        self, resource: ResourceClient, name: str, holds: Callable[[KubeObject | None], object]
    ) -> KubeObject | None:
        """``holds`` is asked about each state of this one object, so it must depend on no other:
        that may change when this one does not."""
        return await resource.wait_for(name, lambda obj: bool(holds(obj)), timeout_s=TIMEOUT_S)

    async def active(self, **labels: str) -> list[KubeObject]:
        """The pods with these labels that are not being deleted."""
        return _active((await self._pods.list(label_selector=_selector(labels))).items)

    async def wait_active(self, count: int, **labels: str) -> list[KubeObject]:
        """Until so many pods with these labels are there and not being deleted."""
        found = await wait_for_list(
            self._pods, lambda pods: len(_active(pods)) == count, label_selector=_selector(labels)
        )
        return _active(found)

    async def begin_history(self) -> dict[str, KubeObject]:
        """History begins with the pods as they are now, which are returned by name."""
        self.start = await self.client.core_v1.pods.in_all_namespaces().list()
        return {pod.name: pod for pod in self.start.items if pod.namespace != MARKERS}

    async def history(self) -> list[Change]:
        """Every change of a pod since then, in the order of the server, up to this call."""
        body = {**template({}), "metadata": {"generateName": "marker-"}}
        marker = await self.client.core_v1.pods(MARKERS).create(body)
        everywhere = self.client.core_v1.pods.in_all_namespaces()
        changes = await changes_since(everywhere, self.start, marker.resource_version)
        return [one for one in changes if all(pod.namespace != MARKERS for pod in one if pod)]

    async def alive_over_time(
        self, alive: dict[str, KubeObject]
    ) -> AsyncIterator[dict[str, KubeObject]]:
        """The pods that are not being deleted, by name, after each change since then; ``alive`` are
        those of the beginning, and is kept up to date."""
        for old, new in await self.history():
            seen = new or old
            assert seen is not None
            alive.pop(seen.name, None)
            if new is not None and not new.metadata.deletionTimestamp:
                alive[new.name] = new
            yield alive

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
                # A test may have written a status of its own since this one was seen.
                seen = {"metadata": {"resourceVersion": pod.resource_version}}
                await api.patch_status(pod.name, {**seen, **status}, type="strategic")

    @property
    def _pods(self) -> ResourceClient:
        return self.client.core_v1.pods("default")


def _active(pods: list[KubeObject]) -> list[KubeObject]:
    return [pod for pod in pods if not pod.metadata.deletionTimestamp]


def _selector(labels: dict[str, str]) -> str:
    return ",".join(f"{key}={value}" for key, value in labels.items())


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
async def running_stage(names: Sequence[str], clock: Clock | None = None) -> AsyncIterator[Stage]:
    """With these controllers, on a clock of their own if one is given."""
    async with ApiServer() as server, connected(server) as client:
        stage = Stage(client, await client.core_v1.pods.in_all_namespaces().list())
        async with SharedInformerFactory(client) as informers:
            informers.informer("pods").add_handler(
                on_add=stage.play, on_update=lambda _, new: stage.play(new)
            )
            informers.start()
            chosen = {name: CONTROLLERS[name] for name in names}
            run = run_controllers(client, clock or SystemClock(), controllers=chosen)
            async with background(run):
                yield stage


def connected(server: ApiServer) -> Client:
    auth = AuthSettings(token=server.token, over_loopback_http=True)
    return Client(ClientConfig(host=server.url, auth=auth, rate_limit=None, disk_cache=False))


def status_of(obj: KubeObject | None) -> Any:
    """The status, empty if there is none yet."""
    return (obj.status if obj is not None else None) or {}
