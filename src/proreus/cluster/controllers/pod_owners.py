"""Owners of pods: what ReplicaSets, StatefulSets, DaemonSets and Jobs all do with theirs.

They claim pods, create and delete them, and write the owner's status. Every write is remembered in
``OwnWrites`` and told as an event of the owner, so that a kind's own module is left with decisions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from proreus.api.object import KubeObject
from proreus.api.selectors.labels import LabelSelector
from proreus.api.status import ApiError, NotFound
from proreus.client.controller import Controller, Result, Watch
from proreus.client.informer import Notification
from proreus.cluster.controllers.own_writes import Gone, OwnWrites, Sync, reconciling
from proreus.cluster.controllers.ownership import (
    CONTROLLER_INDEX,
    Claiming,
    candidates,
    claim,
    controller_of,
    controller_uid,
    is_namespace_terminating,
)
from proreus.cluster.controllers.pod_template import available_in_s, is_active
from proreus.cluster.controllers.setting import Setting
from proreus.net.transport_error import ConnectFailed, NotPermitted, TransportError


@dataclass(frozen=True, slots=True)
class Wording:
    """What events say; ``{pod}``, ``{owner}`` and ``{why}`` are filled in."""

    created: str = "Created pod: {pod}"
    deleted: str = "Deleted pod: {pod}"
    not_created: str = "Error creating: {why}"
    not_deleted: str = "Error deleting: {why}"


class PodOwners:
    """The owners of one resource, as ``replicasets.apps``, and their pods."""

    def __init__(
        self,
        setting: Setting,
        resource: str,
        component: str,
        *,
        wording: Wording = Wording(),  # noqa: B008  # immutable
        finalizers: tuple[str, ...] = (),  # what an adopted pod gets
    ) -> None:
        self.client = setting.client
        self.clock = setting.clock
        self.recorder = setting.recorder(component)
        self.informer = setting.owned(resource)
        self.pods = setting.owned("pods")
        self.writes = OwnWrites()
        self.resource = setting.client.resource(resource)
        self._wording = wording
        self._finalizers = finalizers

    def controller(
        self,
        sync: Sync,
        name: str,
        *,
        concurrency: int,
        watches: Iterable[Watch] = (),
        gone: Gone | None = None,
    ) -> Controller:
        async def settled(owner: KubeObject) -> Result | None:
            if self.writes.is_doubted(owner.key):
                await self._settle(owner)
            return await sync(owner)

        return Controller(
            reconciling(self.informer, self.writes, settled, gone),
            self.informer,
            owns=[self.pods],
            watches=[Watch(self.pods, self.keys_of_orphan, when=may_be_claimed), *watches],
            name=name,
            concurrency=concurrency,
        )

    async def _settle(self, owner: KubeObject) -> None:
        """After a lost answer: a pod too many, or too few, would be the price of not looking."""
        selected = str(selector_of(owner))
        live = await self.client.core_v1.pods(owner.namespace).list(label_selector=selected)
        cached = self.pods.indexer.by_index(CONTROLLER_INDEX, owner.uid)
        matching = [pod for pod in cached if selector_of(owner).matches(pod.labels)]
        self.writes.settle(owner.key, self.pods, live, matching)
        await self.writes.wait_seen(owner.key)

    def keys_of_orphan(self, pod: KubeObject) -> list[str]:
        """A pod that nobody controls concerns everyone who would take it."""
        if not pod.labels or controller_of(pod) is not None:
            return []
        return [
            owner.key
            for owner in self.informer.lister.list(namespace=pod.namespace)
            if selector_of(owner).matches(pod.labels)
        ]

    async def claim(
        self, owner: KubeObject, found: Iterable[KubeObject] | None = None
    ) -> list[KubeObject]:
        """The owner's pods, of those in ``found`` or of all, without those it has deleted."""
        claiming = Claiming(
            self.resource,
            self.client.core_v1.pods,
            partial(self.writes.wrote, owner.key, self.pods),
            self._finalizers,
        )
        known = candidates(self.pods, owner) if found is None else found
        mine = await claiming.carry_out(owner, claim(owner, known, selector_of(owner)))
        return self.writes.remaining(owner.key, mine)

    async def create(self, owner: KubeObject, pod: Mapping[str, Any]) -> None:
        name = pod["metadata"].get("name") or ""
        try:
            created = await self.client.core_v1.pods(owner.namespace).create(pod)
        except ApiError as refused:
            if not is_namespace_terminating(refused):
                said = self._wording.not_created
                self._tell(owner, "Warning", "FailedCreate", said, name, refused.message)
            raise
        except TransportError as lost:
            self._doubt(owner, lost)
            raise
        self.writes.wrote(owner.key, self.pods, created)
        self._tell(owner, "Normal", "SuccessfulCreate", self._wording.created, created.name)

    async def delete(self, owner: KubeObject, pod: KubeObject) -> None:
        try:
            await self.client.core_v1.pods(pod.namespace).delete(pod.name, uid=pod.uid)
        except NotFound:
            pass
        except ApiError as refused:
            said = self._wording.not_deleted
            self._tell(owner, "Warning", "FailedDelete", said, pod.name, refused.message)
            raise
        except TransportError as lost:
            self._doubt(owner, lost)
            raise
        self.writes.deleted(owner.key, pod)
        self._tell(owner, "Normal", "SuccessfulDelete", self._wording.deleted, pod.name)

    def _doubt(self, owner: KubeObject, lost: TransportError) -> None:
        if not isinstance(lost, (ConnectFailed, NotPermitted)):  # those were not even sent
            self.writes.doubt(owner.key)

    async def write_status(self, owner: KubeObject, status: dict[str, Any]) -> KubeObject:
        """The owner as it is afterwards; nothing is written if nothing is new."""
        if (owner.status or {}) == status:
            return owner
        content = {**owner.to_dict(), "status": status}
        written = await self.resource(owner.namespace).replace_status(content)
        self.writes.wrote(owner.key, self.informer, written)
        return written

    def _tell(
        self, owner: KubeObject, kind: str, reason: str, said: str, pod: str, why: str = ""
    ) -> None:
        self.recorder.event(owner, kind, reason, said.format(pod=pod, owner=owner.name, why=why))


def may_be_claimed(told: Notification) -> bool:
    """Whether a change may have made somebody interested in a pod that nobody controls."""
    old, new = told.old, told.new
    if old is None or new is None:
        return new is not None
    return dict(old.labels) != dict(new.labels) or controller_uid(old) != controller_uid(new)


def selector_of(owner: KubeObject) -> LabelSelector:
    return LabelSelector.from_object(owner.spec.selector)


def next_availability_s(owner: KubeObject, pods: Iterable[KubeObject], now: float) -> float | None:
    """When the next ready pod will have been ready for long enough."""
    min_ready_s = owner.spec.minReadySeconds or 0
    if not min_ready_s:
        return None  # whoever is ready is available: no look at all pods
    delays = [available_in_s(pod, min_ready_s, now) for pod in pods if is_active(pod)]
    return min((delay for delay in delays if delay), default=None)
