"""ConfigMaps and secrets that pods refer to, each watched by name while a pod does, and trust
bundles, all of them by one watch.

A kubelet may not read the whole cluster's secrets, and need not: one watch per object that is
referred to, as the kubelets of other clusters have it. Nodes of one process share it: it is that of
a node whose pods refer to the object, as the API server demands, and passes on to another such node
when this one needs it no more. A watch is a connection, and a hundred nodes had a hundred for one
ConfigMap that every pod mounts.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TypeAlias

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


_Key: TypeAlias = tuple[str, Reference]
_Users: TypeAlias = "dict[WatchedObjects, dict[str, Callable[[], None]]]"


class NodeEnding(Exception):
    """A node that begins no watch any more: its parts have been told to end."""


@dataclass(slots=True, eq=False)
class _Watched:
    """``holder``: whose client watches. ``users``: whom to tell of changes, by node and pod. A
    ConfigMap of which every pod of the cluster is a user is nothing special."""

    informer: SharedInformer
    task: asyncio.Task[None]
    holder: WatchedObjects
    users: _Users


@dataclass(frozen=True, slots=True)
class ObjectWatches:
    """The watches of all nodes of a process."""

    by_object: dict[_Key, _Watched] = field(default_factory=dict)


class WatchedObjects:
    """What the pods of one node refer to. ``group`` owns the watches that this node holds."""

    def __init__(
        self,
        client: Client,
        clock: Clock,
        group: asyncio.TaskGroup,
        watches: ObjectWatches | None = None,
    ) -> None:
        self._client = client
        self._clock = clock
        self._group = group
        self._watched = (watches or ObjectWatches()).by_object
        self._keys: dict[str, set[_Key]] = {}  # by the pod's uid

    def use(
        self,
        uid: str,
        namespace: str,
        references: frozenset[Reference],
        changed: Callable[[], None],
    ) -> None:
        """A pod refers to these; ``changed`` is called when one of them does. Idempotent."""
        keys = self._keys.setdefault(uid, set())
        for reference in references:
            key = (_place(namespace, reference), reference)
            keys.add(key)
            watched = self._watched.get(key) or self._begin(key, {})
            watched.users.setdefault(self, {})[uid] = changed

    def release(self, uid: str) -> None:
        for key in self._keys.pop(uid, ()):
            watched = self._watched.get(key)
            if watched is None:  # all that used it were ending
                continue
            own = watched.users.get(self, {})
            own.pop(uid, None)
            if own:
                continue
            watched.users.pop(self, None)
            if watched.holder is self:
                watched.task.cancel()
                del self._watched[key]
                _hand_over(key, watched.users)

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
        found: dict[Reference, KubeObject] = {}
        for one in references:
            indexer = self._informer(namespace, one).indexer
            if not one.name:
                found |= {Reference(one.kind, obj.name): obj for obj in indexer.objects()}
            elif (obj := indexer.get(_key(_place(namespace, one), one))) is not None:
                found[one] = obj
        return found

    def _begin(self, key: _Key, users: _Users) -> _Watched:
        """Raises ``NodeEnding``."""
        namespace, reference = key
        resource = _RESOURCES[reference.kind]
        named = f"metadata.name={reference.name}" if reference.name else ""
        selected = InformerSelection(resource, namespace, field_selector=named)
        informer = SharedInformer(
            list_watch_of(self._client, selected), resource, name=str(selected), clock=self._clock
        )

        def notify() -> None:
            for changed in [one for pods in users.values() for one in pods.values()]:
                changed()

        async def run() -> None:
            async with background(informer.run()):
                await informer.wait_synced()
                notify()  # also of what does not exist
                await asyncio.Event().wait()

        informer.add_handler(on_notification=lambda _: notify(), name=f"kubelet {selected}")
        running = run()
        try:
            task = self._group.create_task(running, name=str(selected))
        except RuntimeError as ending:
            running.close()
            raise NodeEnding from ending
        watched = self._watched[key] = _Watched(informer, task, self, users)
        return watched

    def close(self) -> None:
        """End all watches, or leave them to others who need them."""
        for uid in list(self._keys):
            self.release(uid)

    def __len__(self) -> int:
        return len(self._watched)


def _hand_over(key: _Key, users: _Users) -> None:
    for node in users:
        with suppress(NodeEnding):
            node._begin(key, users)
            return


def _place(namespace: str, reference: Reference) -> str:
    return "" if reference.kind in CLUSTER_KINDS else namespace


def _key(place: str, reference: Reference) -> str:
    return f"{place}/{reference.name}" if place else reference.name
