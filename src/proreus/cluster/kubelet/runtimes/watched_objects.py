"""ConfigMaps and secrets that pods refer to, each watched by name while a pod does.

A kubelet may not read the whole cluster's secrets, and need not: one watch per object that is
referred to, as the kubelets of other clusters have it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from proreus.aio.clock import Clock, deadline
from proreus.aio.tasks import background
from proreus.api.object import KubeObject
from proreus.client import Client
from proreus.client.informer import SharedInformer
from proreus.client.informer.factory import InformerSelection, list_watch_of
from proreus.cluster.kubelet.runtimes.pod_spec.references import (
    CLUSTER_KINDS,
    ConfigProblem,
    Reference,
)

_SYNC_S = 15.0
_RESOURCES = {
    "configmap": "configmaps",
    "secret": "secrets",
    "clustertrustbundle": "clustertrustbundles",
}


@dataclass(slots=True)
class _Watched:
    informer: SharedInformer
    task: asyncio.Task[None]
    users: dict[str, Callable[[], None]] = field(default_factory=dict)


class WatchedObjects:
    """``group`` owns the watches."""

    def __init__(self, client: Client, clock: Clock, group: asyncio.TaskGroup) -> None:
        self._client = client
        self._clock = clock
        self._group = group
        self._watched: dict[tuple[str, Reference], _Watched] = {}

    def use(
        self,
        uid: str,
        namespace: str,
        references: frozenset[Reference],
        changed: Callable[[], None],
    ) -> None:
        """A pod refers to these; ``changed`` is called when one of them does. Idempotent."""
        for reference in references:
            key = (_place(namespace, reference), reference)
            watched = self._watched.get(key) or self._begin(*key)
            self._watched[key] = watched
            watched.users[uid] = changed

    def release(self, uid: str) -> None:
        for key, watched in list(self._watched.items()):
            watched.users.pop(uid, None)
            if not watched.users:
                watched.task.cancel()
                del self._watched[key]

    async def read(
        self, namespace: str, references: frozenset[Reference]
    ) -> dict[Reference, KubeObject]:
        """Those that exist, as last seen. Raises ``ConfigProblem`` if the server does not say."""
        for reference in references:
            try:
                async with deadline(self._clock, _SYNC_S):
                    await self._informer(namespace, reference).wait_synced()
            except TimeoutError as late:
                raise ConfigProblem(f"timed out waiting for {reference}") from late
        return self._existing(namespace, references)

    def read_nowait(
        self, namespace: str, references: frozenset[Reference]
    ) -> dict[Reference, KubeObject] | None:
        """As ``read``; None: the server has not said yet, and will (``changed``)."""
        if not all(self._informer(namespace, one).has_synced for one in references):
            return None
        return self._existing(namespace, references)

    def _informer(self, namespace: str, reference: Reference) -> SharedInformer:
        return self._watched[(_place(namespace, reference), reference)].informer

    def _existing(
        self, namespace: str, references: frozenset[Reference]
    ) -> dict[Reference, KubeObject]:
        found = {
            one: self._informer(namespace, one).indexer.get(_key(_place(namespace, one), one))
            for one in references
        }
        return {reference: obj for reference, obj in found.items() if obj is not None}

    def _begin(self, namespace: str, reference: Reference) -> _Watched:
        resource = _RESOURCES[reference.kind]
        selected = InformerSelection(
            resource, namespace, field_selector=f"metadata.name={reference.name}"
        )
        informer = SharedInformer(
            list_watch_of(self._client, selected), resource, name=str(selected), clock=self._clock
        )

        def notify() -> None:
            for changed in list(watched.users.values()):
                changed()

        async def run() -> None:
            async with background(informer.run()):
                await informer.wait_synced()
                notify()  # also of what does not exist
                await asyncio.Event().wait()

        informer.add_handler(on_notification=lambda _: notify(), name=f"kubelet {selected}")
        watched = _Watched(informer, self._group.create_task(run(), name=str(selected)))
        return watched

    def close(self) -> None:
        """End all watches."""
        for watched in self._watched.values():
            watched.task.cancel()
        self._watched.clear()

    def __len__(self) -> int:
        return len(self._watched)


def _place(namespace: str, reference: Reference) -> str:
    return "" if reference.kind in CLUSTER_KINDS else namespace


def _key(place: str, reference: Reference) -> str:
    return f"{place}/{reference.name}" if place else reference.name
