"""A rolling update of fifty replicas while programs are killed, and what must be true then."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from functools import partial
from typing import Any

from proreus.aio.tasks import background
from proreus.api.object import KubeObject
from proreus.client import Client
from tests.faults.cluster.history import (
    Promise,
    counts,
    final_state,
    is_ready,
    owner_of,
    violations,
)
from tests.faults.cluster.pod_watch import TIMEOUT_S, PodWatch

REPLICAS, SURGE, UNAVAILABLE = 50, 5, 5
OLD, NEW = "web:1", "web:2"


def points(name: str, count: int) -> list[int]:
    """After how many new pods that became ready something happens: arbitrary, but the same ones
    each time."""
    return sorted(random.Random(name).sample(range(1, REPLICAS), count))


def deployment(replicas: int = REPLICAS) -> dict[str, Any]:
    labels = {"app": "web"}
    container = {"name": "main", "image": OLD}
    bounds = {"maxSurge": SURGE, "maxUnavailable": UNAVAILABLE}
    return {
        "metadata": {"name": "web"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "strategy": {"rollingUpdate": bounds},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    }


def image(pod: KubeObject) -> str:
    return str(pod.spec.containers[0].image)


class Rollout:
    """One namespace with one Deployment, and a record of its pods."""

    def __init__(self, client: Client, namespace: str) -> None:
        self._client = client
        self._namespace = namespace
        self._deployments = client.apps_v1.deployments(namespace)
        self.watch = PodWatch(client, namespace)

    async def prepare(self) -> None:
        """All replicas of the first image are available."""
        await self._client.core_v1.namespaces.create({"metadata": {"name": self._namespace}})
        await self._deployments.create(deployment())
        await self._deployments.wait_for("web", _is_complete, timeout_s=TIMEOUT_S)

    async def run(self, kills: list[int], kill: Callable[[], None]) -> None:
        """Change the image, ``kill`` after so many new pods were seen to become ready, wait."""
        await self.watch.begin()
        async with background(self.watch.run()):
            change = [
                {"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": NEW}
            ]
            await self._deployments.patch("web", change, type="json")
            for number in kills:
                await self.watch.wait(partial(self._has_ready, number))
                # Beside the loop: a watch that is not read for long is closed by the server.
                await asyncio.to_thread(kill)
            await self.watch.wait(self._is_over)
            await self._deployments.wait_for("web", _is_complete, timeout_s=TIMEOUT_S)
            await self._check()

    async def _check(self) -> None:
        pods = await self._client.core_v1.pods(self._namespace).list()
        await self.watch.wait(lambda: self._reported() == {p.name: p.uid for p in pods})
        replica_sets = list(await self._client.apps_v1.replicasets(self._namespace).list())
        promise = Promise(REPLICAS, SURGE, UNAVAILABLE, {one.uid for one in replica_sets})

        assert violations(self.watch.before, self.watch.history, promise) == []
        (new,) = [one for one in replica_sets if one.spec.replicas]
        assert {owner_of(pod) for pod in pods} == {new.uid}
        assert len(pods) == new.status.availableReplicas == REPLICAS
        assert {image(pod) for pod in pods} == {NEW}
        assert len({pod.status.podIP for pod in pods}) == REPLICAS

    def _reported(self) -> dict[str, str]:
        state = final_state(self.watch.before, self.watch.history)
        return {name: pod.uid for name, pod in state.items()}

    def _has_ready(self, number: int) -> bool:
        """So many new pods have been ready so far, those that are gone again included."""
        pods = (event.pod for event in self.watch.history)
        return len({pod.uid for pod in pods if is_ready(pod) and image(pod) == NEW}) >= number

    def _is_over(self) -> bool:
        state = final_state(self.watch.before, self.watch.history).values()
        done = [pod for pod in state if counts(pod) and is_ready(pod) and image(pod) == NEW]
        return len(state) == len(done) == REPLICAS


def _is_complete(found: KubeObject | None) -> bool:
    status = (found.get("status") or {}) if found is not None else {}
    fields = ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas")
    return (
        found is not None
        and all(status.get(field) == REPLICAS for field in fields)
        and status.get("observedGeneration") == found.metadata.generation
    )
