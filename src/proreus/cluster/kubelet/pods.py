"""Reconciles the pods of this process's nodes: starts them, reports their status, ends them.

Receives: keys, from a controller's queue.  Hands on: status patches and deletions.
Decisions are the runtime's and ``admission``'s; this module does the I/O. A status is written when
it changes; one that will be outdated within ``_COALESCE_S`` is not written at all, which halves the
writes of a rollout.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from proreus.aio.clock import Clock
from proreus.api.json_types import Json
from proreus.api.object import KubeObject, plain_field
from proreus.api.status import Conflict, NotFound
from proreus.client import Client
from proreus.client.controller import Request, Result
from proreus.client.event_recorder import NORMAL, WARNING, EventRecorder
from proreus.client.informer import Lister
from proreus.cluster.kubelet.addresses import NodeAddresses
from proreus.cluster.kubelet.admission import NODE_AFFINITY, NodeAllocations
from proreus.cluster.kubelet.resize import (
    ResizeRefusal,
    given_resources,
    resize_message,
    resources_of,
    with_resources,
)
from proreus.cluster.kubelet.runtimes.runtime import PodAddresses, RunningPod, Runtime
from proreus.cluster.kubelet.runtimes.states import TERMINAL
from proreus.cluster.kubelet.status import (
    has_changed,
    others_part,
    pod_status,
    rejected_patch,
    status_patch,
)
from proreus.cluster.pod_status import is_deleting, is_finished

_COALESCE_S = 0.3
_GRACE_MIN_S = 1.0
_RESIZE_AGAIN_S = 10.0  # a resize that was refused, if nothing happens to the pod before


@dataclass(slots=True)
class _Known:
    """A pod that this process runs. ``latest``: as our last write, or the informer, left it.
    ``allocated``: its containers' resources; ``refusal``: why they are not what it asks for.
    ``resized``: as it was when it got others, until all containers run with them.
    ``is_settled``: there is nothing to do until it, or something in the runtime, changes.
    ``is_confirmed``: the server knows that it has ended and may go."""

    uid: str
    node: str
    addresses: PodAddresses
    running: RunningPod
    latest: KubeObject
    allocated: dict[str, Json]
    refusal: ResizeRefusal | None = None
    resized: KubeObject | None = None
    is_settled: bool = False
    is_confirmed: bool = False


@dataclass(frozen=True, slots=True)
class Listers:
    """All nodes and pods."""

    nodes: Lister
    pods: Lister


@dataclass(slots=True)
class Pods:
    """``reconcile`` one pod. ``_nodes`` are the nodes that are ours."""

    _client: Client
    _clock: Clock
    _recorder: EventRecorder
    _nodes: Mapping[str, NodeAddresses]
    _runtime: Runtime
    _listers: Listers
    _pods: dict[str, _Known] = field(default_factory=dict)
    _allocations: NodeAllocations = field(init=False)

    def __post_init__(self) -> None:
        pods = self._listers.pods
        self._allocations = NodeAllocations(lambda key: pods.find(*reversed(key.split("/"))))

    def resume(self, pods: Iterable[KubeObject]) -> None:
        """Take over the pods of an earlier process, before any new one, so that no address is given
        twice."""
        for pod in pods:
            is_ours = pod.spec.nodeName in self._nodes and not is_finished(pod)
            if is_ours and (pod.get("status") or {}).get("podIP"):
                self._resume(pod)

    async def reconcile(self, request: Request) -> Result | None:
        pod = request.object
        if pod is None or plain_field(pod, "spec").get("nodeName") not in self._nodes:
            self._forget(request.key)
            return None
        try:
            known = self._known(pod) or await self._admitted(pod)
            if known is None or known.is_settled:
                return None
            return await self._settle(known)
        except (NotFound, Conflict):
            return None  # deleted or replaced: the informer brings the new state

    def _known(self, pod: KubeObject) -> _Known | None:
        """None for a pod that is new here, or finished."""
        known = self._pods.get(pod.key)
        if known is not None and known.uid != pod.uid:
            self._forget(pod.key)
            return None
        if known is not None and int(pod.resource_version) > int(known.latest.resource_version):
            self._take(known, pod)
        return known

    def _take(self, known: _Known, pod: KubeObject) -> None:
        """A state of the pod that another has written."""
        known.latest, known.is_settled = pod, False
        has_all = self._resize(known)
        known.running.update(pod if has_all else with_resources(pod, known.allocated))

    def _resize(self, known: _Known) -> bool:
        """Give the pod the resources that it asks for, if there is room; whether it has them."""
        pod, wanted, before = known.latest, resources_of(known.latest), known.refusal
        known.refusal = None
        if wanted == known.allocated:
            return True
        node = self._listers.nodes.find(known.node)
        refusal = known.refusal = self._allocations.resize(pod, node)
        if refusal is None:
            known.allocated, known.resized = wanted, pod
            self._recorder.event(pod, NORMAL, "ResizeStarted", resize_message(pod, "started"))
        elif refusal != before:
            said = resize_message(pod, refusal.reason, refusal.message)
            self._recorder.event(pod, WARNING, f"Resize{refusal.reason}", said)
        return refusal is None

    def is_settled_at(self, pod: KubeObject) -> bool:
        """Whether this version brings no news: we wrote it, and all that followed from it."""
        known = self._pods.get(pod.key)
        return (
            known is not None
            and known.is_settled
            and known.latest.resource_version == pod.resource_version
        )

    def touch(self, key: str) -> None:
        """Something that its pod depends on has changed."""
        known = self._pods.get(key)
        if known is not None:
            known.is_settled = False

    async def _admitted(self, pod: KubeObject) -> _Known | None:
        """None for a pod that is finished, or is not admitted."""
        if is_finished(pod):
            await self._delete(pod)
            return None
        name = plain_field(pod, "spec")["nodeName"]
        if is_deleting(pod) or plain_field(pod, "status").get("startTime"):
            return self._resume(pod)
        rejection = self._allocations.admit(pod, self._listers.nodes.find(name))
        if rejection is not None and rejection.reason == NODE_AFFINITY:
            # Its labels may be newer than what we have seen.
            rejection = self._allocations.admit(pod, await self._client.core_v1.nodes.get(name))
        if rejection is None:
            return self._begin(pod)
        self._recorder.event(pod, WARNING, rejection.reason, rejection.message)
        patch = rejected_patch(pod, rejection, self._clock.now())
        await self._client.core_v1.pods(pod.namespace).patch_status(
            pod.name, patch, type="strategic"
        )
        return None

    def _resume(self, pod: KubeObject) -> _Known:
        """With the resources that it was given before, which may not be what it asks for."""
        given = given_resources(pod)
        if given == resources_of(pod):
            self._allocations.take(pod)
            return self._begin(pod)
        has = with_resources(pod, given)
        self._allocations.take(has)
        known = self._begin(has)
        self._take(known, pod)
        return known

    def _begin(self, pod: KubeObject) -> _Known:
        at = self._addresses(pod)
        running = self._runtime.begin(pod, at, self._clock.now())
        known = self._pods[pod.key] = _Known(
            pod.uid, plain_field(pod, "spec")["nodeName"], at, running, pod, resources_of(pod)
        )
        return known

    async def _settle(self, known: _Known) -> Result | None:
        known.is_settled = True  # unless it is touched meanwhile
        try:
            after = await self._sync(known)
        except BaseException:
            known.is_settled = False
            raise
        if after is not None:
            known.is_settled = False
        return after

    async def _sync(self, known: _Known) -> Result | None:
        pod, running, now = known.latest, known.running, self._clock.now()
        if is_finished(pod):
            await self._finish_deletion(known)
            return None
        if is_deleting(pod):
            grace_s = float(plain_field(pod, "metadata").get("deletionGracePeriodSeconds") or 0)
            running.stop(now, max(grace_s, _GRACE_MIN_S))
        if known.refusal is not None and self._resize(known):
            running.update(pod)
        running.advance(now)
        due = running.next_due(now)
        if known.refusal is not None:
            due = min(math.inf if due is None else due, now + _RESIZE_AGAIN_S)
        if due is not None and due - now < _COALESCE_S:
            return Result(requeue_after_s=due - now)
        if await self._report(known, now) in TERMINAL:
            await self._finish_deletion(known)
            return None
        return None if due is None else Result(requeue_after_s=due - now)

    async def _report(self, known: _Known, now: float) -> str:
        """Returns the phase."""
        pod, at = known.latest, known.addresses
        report = known.running.report(now)
        if known.resized is not None and not report.is_replacing:
            said = resize_message(known.resized, "completed")
            self._recorder.event(pod, NORMAL, "ResizeCompleted", said)
            known.resized = None
        status = pod_status(
            pod,
            report,
            now,
            addresses=at,
            allocated=known.allocated,
            refusal=known.refusal,
            is_resizing=known.resized is not None,
        )
        if has_changed(pod, status):
            patch = status_patch(pod, status)
            pods = self._client.core_v1.pods(pod.namespace)
            written = await pods.patch_status(pod.name, patch, type="strategic")
            known.latest = written
            if others_part(written) != others_part(pod):
                self._take(known, written)  # its event, which comes still, is looked at
        return report.phase

    async def _finish_deletion(self, known: _Known) -> None:
        """Nothing runs and that is reported: delete the object."""
        self._release(known)
        if not known.is_confirmed:
            known.is_confirmed = await self._delete(known.latest)

    async def _delete(self, pod: KubeObject) -> bool:
        """If its deletion was requested; whether it was."""
        # Zero and finalizers: already confirmed, and the pod waits for its finalizers. Zero alone:
        # who confirmed it died before the server was done.
        metadata = plain_field(pod, "metadata")
        is_held = metadata.get("deletionGracePeriodSeconds") == 0 and metadata.get("finalizers")
        if is_deleting(pod) and not is_held:
            pods = self._client.core_v1.pods(pod.namespace)
            await pods.delete(pod.name, grace_period_s=0, uid=pod.uid)
            return True
        return False

    def _addresses(self, pod: KubeObject) -> PodAddresses:
        spec = plain_field(pod, "spec")
        node = self._nodes[spec["nodeName"]]
        if spec.get("hostNetwork"):
            return PodAddresses(node.host_ip, node.host_ip)
        before = plain_field(pod, "status").get("podIP") or ""
        return PodAddresses(node.take(pod.uid, before), node.host_ip)

    def _forget(self, key: str) -> None:
        known = self._pods.pop(key, None)
        if known is not None:
            known.running.remove()
            self._release(known)

    def _release(self, known: _Known) -> None:
        self._nodes[known.node].release(known.uid)
        self._allocations.release(known.node, known.uid)

    def __len__(self) -> int:
        return len(self._pods)

    def __repr__(self) -> str:
        return f"<Pods: {len(self._pods)} on {len(self._nodes)} nodes>"
