"""The namespace controller: deletes the content of a deleted namespace, pods first, then finalizes.

Receives: keys of namespaces, and pods that disappeared.  Hands on: the finalize subresource.
Invariant: a namespace is finalized only after every discovered resource was listed empty; while
discovery is incomplete, nothing is finalized.
"""

from __future__ import annotations

import contextlib

from proreus.api.object import KubeObject
from proreus.api.status import MethodNotAllowed, NotFound
from proreus.client.client import Client
from proreus.client.controller import Controller, Result, RetryLater, Watch
from proreus.client.discovery.api_resource import ApiResource
from proreus.client.informer import ChangeType, Notification
from proreus.cluster.controllers.batches import concurrently
from proreus.cluster.controllers.context import ControllerContext
from proreus.cluster.controllers.discovered import discover, resource_client, with_verbs
from proreus.cluster.controllers.namespace.decisions import (
    Remaining,
    has_finalizer,
    remaining_of,
    requeue_after_s,
    status_of,
    without_finalizer,
)
from proreus.cluster.controllers.reconciler import ObjectReconciler
from proreus.cluster.pod_status import is_deleting


class ContentRemains(RetryLater):
    """Something is left although nothing says why; trying again may help."""


def namespace_controller(context: ControllerContext) -> Controller:
    namespaces = Namespaces(context)
    when = namespaces.is_pod_deleted_with_namespace
    pods = Watch(namespaces.pods, lambda pod: (pod.namespace,), when=when)
    return namespaces.controller("namespace", watches=[pods], concurrency=10)


class Namespaces(ObjectReconciler):
    """Empties one namespace at a time."""

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context, "namespaces")
        self.pods = context.owned_informer("pods")

    def is_pod_deleted_with_namespace(self, notification: Notification) -> bool:
        if notification.change is not ChangeType.DELETE:
            return False
        namespace = self.informer.indexer.get(notification.object.namespace)
        return namespace is not None and is_deleting(namespace)

    async def sync(self, namespace: KubeObject) -> Result | None:
        if not is_deleting(namespace) or not has_finalizer(namespace):
            return None
        known = await discover(self.client)
        namespaced = [one for one in known.resources if one.namespaced]
        deletable = with_verbs(namespaced, "delete", "list")
        deletion = ContentDeletion(self.client, namespace.name)
        await deletion.delete_all([one for one in deletable if _is_pods(one)])
        if not deletion.left:
            await deletion.delete_all([one for one in deletable if not _is_pods(one)])
        if not deletion.left and not deletion.failures and not known.failures:
            with contextlib.suppress(NotFound):
                await self.api.replace(without_finalizer(namespace), subresource="finalize")
            return None
        now = self.clock.now()
        status = status_of(namespace, deletion.left, known.failures, deletion.failures, now)
        await self.write_status(namespace, status)
        delay_s = requeue_after_s(deletion.left)
        if delay_s is None or deletion.failures or known.failures:
            raise ContentRemains(f"{namespace.name}: {deletion.left} {deletion.failures}")
        return Result(delay_s)


class ContentDeletion:
    """One try at emptying a namespace, and what it left."""

    def __init__(self, client: Client, namespace: str) -> None:
        self._client = client
        self._namespace = namespace
        self.left: list[Remaining] = []
        self.failures: list[str] = []

    async def delete_all(self, resources: list[ApiResource]) -> None:
        failures = await concurrently(resources, self._delete_resource)
        self.failures += [str(failure) for failure in failures]

    async def _delete_resource(self, resource: ApiResource) -> None:
        found = resource_client(self._client, resource)(self._namespace).metadata_only
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
            self.left.append(remaining_of(f"{resource.name}.{resource.group}", there))


def _is_pods(resource: ApiResource) -> bool:
    return (resource.group, resource.name) == ("", "pods")
