"""ConfigMaps and secrets that pods of this node refer to: watched one by one, while somebody does.

A kubelet may not read the whole cluster's secrets, and need not: one watch per object that is
referred to, as the kubelets of other clusters have it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from proreus.aio.clock import Clock, deadline
from proreus.api.object import KubeObject
from proreus.client import Client
from proreus.client.informer import Notification, SharedInformer
from proreus.client.informer.factory import Selection, list_watch_of
from proreus.cluster.kubelet.runtimes.process.references import ConfigProblem, Reference

_SYNC_S = 15.0
_RESOURCES = {"configmap": "configmaps", "secret": "secrets"}


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
            key = (namespace, reference)
            watched = self._watched.get(key) or self._begin(namespace, reference)
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
        found: dict[Reference, KubeObject] = {}
        for reference in references:
            informer = self._watched[(namespace, reference)].informer
            try:
                async with deadline(self._clock, _SYNC_S):
                    await informer.wait_synced()
            except TimeoutError as late:
                raise ConfigProblem(f"timed out waiting for {reference}") from late
            if (known := informer.indexer.get(f"{namespace}/{reference.name}")) is not None:
                found[reference] = known
        return found

    def _begin(self, namespace: str, reference: Reference) -> _Watched:
        resource = _RESOURCES[reference.kind]
        selected = Selection(resource, namespace, field_selector=f"metadata.name={reference.name}")
        informer = SharedInformer(
            list_watch_of(self._client, selected), resource, name=str(selected), clock=self._clock
        )
        watched = _Watched(informer, self._group.create_task(informer.run(), name=str(selected)))

        def tell(notification: Notification) -> None:
            for changed in list(watched.users.values()):
                changed()

        informer.add_handler(on_notification=tell, name=f"kubelet {selected}")
        return watched

    def close(self) -> None:
        """End all watches."""
        for watched in self._watched.values():
            watched.task.cancel()
        self._watched.clear()

    def __len__(self) -> int:
        return len(self._watched)
