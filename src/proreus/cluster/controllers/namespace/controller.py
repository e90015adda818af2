"""The namespace controller: deletes the content of a deleted namespace, pods first, then lets go.

Receives: keys of namespaces, and pods that disappeared.  Hands on: the finalize subresource.
Invariant: a namespace is let go only after every resource that the server knows was listed empty;
while the server cannot tell all it has, nothing is let go.
"""

from __future__ import annotations

from proreus.api.object import KubeObject
from proreus.api.status import MethodNotAllowed, NotFound
from proreus.client.client import Client
from proreus.client.controller import Controller, Result, Watch
from proreus.client.discovery.api_resource import ApiResource
from proreus.client.informer import Change, Notification
from proreus.cluster.controllers.batches import at_once
from proreus.cluster.controllers.discovered import client_of, discover, with_verbs
from proreus.cluster.controllers.namespace.decisions import (
    Remaining,
    is_held,
    look_again_s,
    remaining_of,
    status_of,
    without_finalizer,
)
from proreus.cluster.controllers.own_writes import OwnWrites, reconciling
from proreus.cluster.controllers.ownership import is_deleting
from proreus.cluster.controllers.setting import Setting

WORKERS = 10


class ContentRemains(Exception):
    """Something is left although nothing says why; trying again may help."""


def namespace_controller(setting: Setting) -> Controller:
    sync = Namespaces(setting)
    return Controller(
        reconciling(sync.informer, sync.writes, sync.sync),
        sync.informer,
        watches=[Watch(sync.pods, lambda pod: (pod.namespace,), when=sync.is_last_of_a_pod)],
        name="namespace",
        concurrency=WORKERS,
    )


class Namespaces:
    """Empties one namespace at a time."""

    def __init__(self, setting: Setting) -> None:
        self._client = setting.client
        self._clock = setting.clock
        self.informer = setting.informers.informer("namespaces")
        self.pods = setting.owned("pods")
        self.writes = OwnWrites()

    def is_last_of_a_pod(self, told: Notification) -> bool:
        if told.change is not Change.DELETE:
            return False
        namespace = self.informer.indexer.get(told.object.namespace)
        return namespace is not None and is_deleting(namespace)

    async def sync(self, namespace: KubeObject) -> Result | None:
        if not is_deleting(namespace) or not is_held(namespace):
            return None
        known = await discover(self._client)
        namespaced = [one for one in known.resources if one.namespaced]
        deletable = with_verbs(namespaced, "delete", "list")
        emptying = Emptying(self._client, namespace.name)
        await emptying.empty([one for one in deletable if _is_pods(one)])
        if not emptying.left:
            await emptying.empty([one for one in deletable if not _is_pods(one)])
        if not emptying.left and not emptying.failures and not known.failures:
            await self._let_go(namespace)
            return None
        await self._tell(namespace, emptying, known.failures)
        delay_s = look_again_s(emptying.left)
        if delay_s is None or emptying.failures or known.failures:
            raise ContentRemains(f"{namespace.name}: {emptying.left} {emptying.failures}")
        return Result(delay_s)

    async def _let_go(self, namespace: KubeObject) -> None:
        api = self._client.core_v1.namespaces
        try:
            await api.replace(without_finalizer(namespace), subresource="finalize")
        except NotFound:
            return

    async def _tell(
        self, namespace: KubeObject, emptying: Emptying, unknown: tuple[str, ...]
    ) -> None:
        now = self._clock.now()
        status = status_of(namespace, emptying.left, unknown, emptying.failures, now)
        if status != namespace.status:
            api = self._client.core_v1.namespaces
            written = await api.replace_status({**namespace.to_dict(), "status": status})
            self.writes.wrote(namespace.key, self.informer, written)


class Emptying:
    """One try at emptying a namespace, and what it left."""

    def __init__(self, client: Client, namespace: str) -> None:
        self._client = client
        self._namespace = namespace
        self.left: list[Remaining] = []
        self.failures: list[str] = []

    async def empty(self, resources: list[ApiResource]) -> None:
        failures = await at_once(resources, self._empty_one)
        self.failures += [str(failure) for failure in failures]

    async def _empty_one(self, resource: ApiResource) -> None:
        found = client_of(self._client, resource)(self._namespace).metadata_only
        try:
            there = (await found.list_all()).items
            if not there:
                return
            if "deletecollection" in resource.verbs:
                await found.delete_collection(propagation="Background")
            else:
                for obj in there:
                    await found.delete(obj.name, propagation="Background")
            there = (await found.list_all()).items
        except (NotFound, MethodNotAllowed):
            return  # the resource itself went, or has no objects of its own
        if there:
            self.left.append(remaining_of(str(resource), there))


def _is_pods(resource: ApiResource) -> bool:
    return (resource.group, resource.name) == ("", "pods")
