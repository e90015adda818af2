"""Owners of pods: what ReplicaSets, StatefulSets, DaemonSets and Jobs all do with theirs.

They claim pods, create and delete them, and write the owner's status. What they do is recorded as
events of the owner; a kind's own module has the decisions.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from proreus.api.json_types import Json
from proreus.api.object import KubeObject
from proreus.api.selectors.labels import LabelSelector
from proreus.api.status import ApiError, NotFound
from proreus.client.controller import Controller, Watch
from proreus.client.informer import Notification
from proreus.cluster.controllers.context import ControllerContext
from proreus.cluster.controllers.ownership import is_namespace_terminating
from proreus.cluster.controllers.reconciler import ObjectReconciler
from proreus.cluster.pod_status import is_active, until_available_s

REPLICATION_CONTROLLER = "ReplicationController"


@dataclass(frozen=True, slots=True)
class EventMessages:
    """The messages of events; ``{pod}``, ``{owner}`` and ``{why}`` are filled in."""

    created: str = "Created pod: {pod}"
    deleted: str = "Deleted pod: {pod}"
    not_created: str = "Error creating: {why}"
    not_deleted: str = "Error deleting: {why}"


class PodOwnerReconciler(ObjectReconciler):
    """The owners of one resource, as ``replicasets.apps``, and their pods."""

    messages = EventMessages()
    finalizers: tuple[str, ...] = ()  # what an adopted pod gets

    def __init__(self, context: ControllerContext, resource: str, component: str) -> None:
        super().__init__(context, resource, component)
        self.pods = context.owned_informer("pods")

    def pod_controller(self, name: str, *watches: Watch, concurrency: int = 10) -> Controller:
        owners = self.informer.indexer.by_key
        orphans = Watch(self.pods, self.keys_of_orphan, may_become_claimable, among=owners)
        watched = [orphans, *watches]
        return self.controller(name, owns=[self.pods], watches=watched, concurrency=concurrency)

    def keys_of_orphan(self, pod: KubeObject) -> list[str]:
        """A pod without a controller concerns every owner that selects it."""
        if not pod.labels or pod.controller_uid:
            return []
        return [
            owner.key
            for owner in self.informer.lister.list(namespace=pod.namespace)
            if selector_of(owner).matches(pod.labels)
        ]

    async def claim_pods(
        self, owner: KubeObject, found: Iterable[KubeObject] | None = None
    ) -> list[KubeObject]:
        """The owner's pods, of those in ``found`` or of all, without those it has deleted."""
        claimed = await self.claim(
            owner,
            self.pods,
            self.client.core_v1.pods,
            selector_of(owner),
            found,
            finalizers=self.finalizers,
        )
        return self.writes.without_deleted(owner.key, claimed)

    async def create_pod(self, owner: KubeObject, pod: Json) -> None:
        name = pod["metadata"].get("name") or ""
        try:
            created = await self.client.core_v1.pods(owner.namespace).create(pod)
        except ApiError as refused:
            if not is_namespace_terminating(refused):
                text = self._message(self.messages.not_created, owner, name, refused.message)
                self.warn(owner, "FailedCreate", text)
            raise
        text = self._message(self.messages.created, owner, created.name)
        self.record(owner, "SuccessfulCreate", text)

    async def delete_pod(self, owner: KubeObject, pod: KubeObject) -> None:
        try:
            await self.client.core_v1.pods(pod.namespace).delete(pod.name, uid=pod.uid)
        except NotFound:
            pass
        except ApiError as refused:
            text = self._message(self.messages.not_deleted, owner, pod.name, refused.message)
            self.warn(owner, "FailedDelete", text)
            raise
        text = self._message(self.messages.deleted, owner, pod.name)
        self.record(owner, "SuccessfulDelete", text)

    def _message(self, template: str, owner: KubeObject, pod: str, why: str = "") -> str:
        return template.format(pod=pod, owner=owner.name, why=why)


def may_become_claimable(notification: Notification) -> bool:
    """Whether a change may have made a pod without a controller adoptable."""
    old, new = notification.old, notification.new
    if new is None or new.controller_uid:
        return False
    return old is None or bool(old.controller_uid) or old.labels != new.labels


def selector_of(owner: KubeObject) -> LabelSelector:
    selector = owner.spec.selector
    if owner.kind == REPLICATION_CONTROLLER:
        selector = {"matchLabels": selector}
    return LabelSelector.from_object(selector)


def until_next_available_s(
    owner: KubeObject, pods: Iterable[KubeObject], now: float
) -> float | None:
    """When the next ready pod will have been ready for long enough."""
    min_ready_s = owner.spec.minReadySeconds or 0
    if not min_ready_s:
        return None  # ready pods are available: no need to read all pods
    delays = [until_available_s(pod, min_ready_s, now) for pod in pods if is_active(pod)]
    return min((delay for delay in delays if delay), default=None)
