"""The scheduler: informers → queue → cycle → assume → binding, several bindings in flight.

Receives: pods and nodes, from two informers, and what ``volume_lookup`` follows for pods with
claims.  Hands on: bindings, conditions and events.
One loop decides, one pod after the other, on the believed state of the cluster; only writing is
concurrent. Invariant: between taking a pod and assuming it there is no await, so no two decisions
use the same resources. At most ``_WRITES_MAX`` writes are under way; then deciding waits.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
from collections.abc import Coroutine
from dataclasses import dataclass

import msgspec

from proreus.aio.clock import Clock, deadline
from proreus.aio.gate import Gate
from proreus.aio.tasks import background
from proreus.api.object import KubeObject
from proreus.api.selectors.labels import LabelSelector
from proreus.api.status import ApiError
from proreus.client import Client, TransportError
from proreus.client.event_recorder import NORMAL, WARNING, EventRecorder
from proreus.client.informer import (
    Lister,
    Notification,
    SharedInformer,
    SharedInformerFactory,
    drop_managed_fields,
)
from proreus.cluster.leader_election import Candidacy, run_as_leader
from proreus.cluster.scheduler import binding
from proreus.cluster.scheduler.cluster_state import ClusterState
from proreus.cluster.scheduler.cycle import Cycle, Unschedulable, hopeless
from proreus.cluster.scheduler.disruption_budget import DisruptionBudget
from proreus.cluster.scheduler.pod import PodView
from proreus.cluster.scheduler.pod_outline import DEFAULT_SCHEDULER, PodOutline
from proreus.cluster.scheduler.pod_volumes import VolumeChoice
from proreus.cluster.scheduler.preemption import (
    NoPreemption,
    Preemption,
    is_waiting_for_victims,
    not_helpful,
    preempt,
)
from proreus.cluster.scheduler.queue import SchedulingQueue
from proreus.cluster.scheduler.volume_binding import VolumeBinding, VolumesNotBound
from proreus.cluster.scheduler.volume_lookup import ClaimProblem, VolumeLookup
from proreus.cluster.volumes.pod_claims import may_have_claims

log = logging.getLogger(__name__)

LEASE_NAME = "proreus-scheduler"
_WRITES_MAX = 16
_EVENTS_WAITING_MAX = 20_000
_UNPARK_CHECK_S = 30.0  # how often the queue is checked for pods parked too long


@dataclass(frozen=True, slots=True)
class _Placement:
    """``moves``: of the queue, when the pod was taken from it."""

    pod: KubeObject
    wanted: PodView
    node: str
    moves: int


async def run_scheduler(
    client: Client, clock: Clock, *, candidacy: Candidacy | None = None
) -> None:
    """Until cancelled. With a ``candidacy``, of several callers one works at a time."""

    async def work() -> None:
        await Scheduler(client, clock).run()

    if candidacy is None:
        await work()
    else:
        await run_as_leader(client, clock, LEASE_NAME, candidacy, work)


class Scheduler:
    """Places the pods that name ``name`` as their scheduler. ``run`` it once."""

    def __init__(
        self,
        client: Client,
        clock: Clock,
        *,
        name: str = DEFAULT_SCHEDULER,
        rng: random.Random | None = None,
    ) -> None:
        self._client = client
        self._clock = clock
        self._name = name
        self._cycle = Cycle(rng or random.Random())
        self._state = ClusterState()
        self._queue = SchedulingQueue()
        self._outlines: dict[str, PodOutline] = {}  # of each pod as it was last seen, by uid
        self._budgets: Lister
        self._volumes: VolumeLookup
        self._volume_binding: VolumeBinding
        self._wake_up = Gate()
        self._writes = asyncio.Semaphore(_WRITES_MAX)
        # As many as a burst of pods has: each is told where it went.
        self._recorder = EventRecorder(
            client.core_v1.events, name, waiting_max=_EVENTS_WAITING_MAX, clock=clock
        )

    async def run(self) -> None:
        """Until cancelled."""
        async with (
            background(self._recorder.run()),
            SharedInformerFactory(
                self._client, transform=drop_managed_fields, clock=self._clock
            ) as informers,
        ):
            nodes, pods = informers.informer("nodes"), informers.informer("pods")
            self._budgets = informers.informer("poddisruptionbudgets.policy").lister
            self._volumes = VolumeLookup(informers, self._volumes_changed)
            self._volume_binding = VolumeBinding(self._client, self._clock, self._volumes)
            handlers = [
                nodes.add_handler(
                    on_notification=self._node_changed, name="scheduler", is_immediate=True
                ),
                pods.add_handler(
                    on_notification=self._pod_changed, name="scheduler", is_immediate=True
                ),
            ]
            informers.start()
            await informers.wait_for_cache_sync()
            # Deciding on half of the state would overcommit nodes.
            for handler in handlers:
                await handler.wait_synced()
            async with asyncio.TaskGroup() as writes:
                await self._schedule(pods, writes)

    # Events

    def _node_changed(self, notification: Notification) -> None:
        old, new = notification.old, notification.new
        if new is None:
            self._state.remove_node(notification.object.name)
        elif old is None or _scheduling_fields(old) != _scheduling_fields(new):
            self._state.put_node(new)
        else:
            return  # a heartbeat
        self._cluster_changed()

    def _pod_changed(self, notification: Notification) -> None:
        old, new = notification.old, notification.new
        if old is not None and (new is None or new.uid != old.uid):
            self._queue.forget(old.key)
            self._outlines.pop(old.uid, None)
            if self._state.remove_pod(old.uid):
                self._cluster_changed()
            old = None
        if new is None:
            return
        before = self._outlines.get(new.uid)
        outline = self._outlines[new.uid] = PodOutline(new)
        if old is None or old.labels != new.labels:
            before = None
        if outline == before:
            return  # a status
        if outline.is_finished:
            self._queue.forget(new.key)
            if self._state.remove_pod(new.uid):
                self._cluster_changed()
        elif node := outline.spec().nodeName:
            self._queue.forget(new.key)
            is_as_decided = (
                old is not None
                and before is not None
                and not outline.is_deleting
                and outline.is_only_bound(before, node)
                and self._state.confirm(new.uid, old.resource_version, node)
            )
            if not is_as_decided:
                self._state.put_pod(PodView.read(new, is_changed=outline.is_changed))
            self._cluster_changed()  # another pod's affinity may match it
        elif outline.wants_scheduling(self._name):
            if old is None and outline.nominated_node:
                # Nominated by an earlier run of the scheduler.
                self._state.nominate(PodView.read(new), outline.nominated_node)
            self._queue.add(new.key, outline.spec().priority or 0, self._clock.monotonic())
            self._wake_up.open()
        else:
            self._queue.forget(new.key)

    def _volumes_changed(self) -> None:
        self._volume_binding.changed()
        self._cluster_changed()

    def _cluster_changed(self) -> None:
        self._queue.cluster_changed()
        self._wake_up.open()

    # Decisions and writes

    async def _schedule(self, pods: SharedInformer, writes: asyncio.TaskGroup) -> None:
        while True:
            await self._writes.acquire()
            try:
                pod = await self._next_pod(pods)
            except BaseException:
                self._writes.release()
                raise
            write = writes.create_task(self._place(pod, writes), name=f"place {pod.key}")
            write.add_done_callback(lambda _: self._writes.release())

    async def _next_pod(self, pods: SharedInformer) -> KubeObject:
        """Waits as long as there is nothing to place."""
        while True:
            self._wake_up.shut()
            now = self._clock.monotonic()
            self._queue.unpark_overdue(now)
            key = self._queue.take(now)
            if key is None:
                ready_in_s = self._queue.next_ready_in(now)
                wait_s = _UNPARK_CHECK_S if ready_in_s is None else min(ready_in_s, _UNPARK_CHECK_S)
                with contextlib.suppress(TimeoutError):
                    async with deadline(self._clock, wait_s):
                        await self._wake_up.wait_open()
                continue
            pod = pods.indexer.get(key)
            if pod is not None and not self._volumes.is_ready and may_have_claims(pod):
                await self._volumes.begin()
                pod = pods.indexer.get(key)
            if pod is None or not PodOutline(pod).wants_scheduling(self._name):
                self._queue.forget(key)
            elif self._state.is_placed(pod.uid):
                # Bound by us, but the informer does not know yet: it will say so.
                self._queue.forget(key)
            else:
                return pod

    def _place(self, pod: KubeObject, writes: asyncio.TaskGroup) -> Coroutine[None, None, None]:
        """Decide now; the write that follows from it is returned."""
        moves, wanted = self._queue.moves, PodView.read(pod)
        try:
            volumes = self._volumes.of(wanted, self._state.nodes)
        except ClaimProblem as problem:
            decided = hopeless(self._state.nodes, str(problem))
            return self._wait_after(self._refuse(pod, wanted, decided), pod.key, moves)
        asked = wanted if volumes is None else msgspec.structs.replace(wanted, volumes=volumes)
        decision = self._cycle.decide(asked, self._state.nodes)
        if isinstance(decision, Unschedulable):
            return self._wait_after(self._refuse(pod, asked, decision), pod.key, moves)
        self._state.assume(wanted, decision.node)
        placement = _Placement(pod, wanted, decision.node, moves)
        if volumes is None or not volumes.delayed:
            return self._bind(placement)
        choice = volumes.choose(self._state.node(decision.node))
        assert choice is not None, "the node was found to have volumes"
        self._volumes.take(choice)
        return self._bind_later(placement, choice, writes)

    async def _bind_later(
        self, placement: _Placement, choice: VolumeChoice, writes: asyncio.TaskGroup
    ) -> None:
        """Beside the writes that are counted: it waits for others, for up to ten minutes. There are
        as many as pods wait for volumes."""
        name = f"volumes of {placement.pod.key}"
        writes.create_task(self._bind_with_volumes(placement, choice), name=name)

    def _refuse(
        self, pod: KubeObject, wanted: PodView, decision: Unschedulable
    ) -> Coroutine[None, None, None]:
        made = self._find_preemption(wanted, decision)
        if isinstance(made, Preemption):
            for other in made.displaced:
                self._state.withdraw_nomination(other.uid)
            self._state.nominate(wanted, made.node)
            self._recorder.event(pod, WARNING, "FailedScheduling", decision.message)
            return self._carry_out_preemption(pod, made, decision.message)
        why = f"{decision.message} {made.why}".rstrip()
        self._recorder.event(pod, WARNING, "FailedScheduling", why)
        if made.keeps_nomination:
            return self._report(pod, why, nominated=None)
        self._state.withdraw_nomination(wanted.uid)
        return self._report(pod, why, nominated="")

    async def _wait_after(self, write: Coroutine[None, None, None], key: str, moves: int) -> None:
        """The pod is looked at again only after the write about its last try: written late, that
        would contradict what became of it since."""
        try:
            await write
        finally:
            self._queue.failed(key, self._clock.monotonic(), moves)
            self._wake_up.open()

    def _find_preemption(
        self, wanted: PodView, decision: Unschedulable
    ) -> Preemption | NoPreemption:
        if decision.is_hopeless:
            return not_helpful(self._state.nodes)
        if not decision.refusals:
            return NoPreemption("")
        if is_waiting_for_victims(wanted, self._state.nomination(wanted.uid)):
            why = "preemption: not eligible due to a terminating pod on the nominated node."
            return NoPreemption(why, keeps_nomination=True)
        budgets = [budget for one in self._budgets.list() if (budget := _budget(one)) is not None]
        return preempt(wanted, self._state.nodes, decision.refusals, budgets)

    async def _carry_out_preemption(self, pod: KubeObject, made: Preemption, why: str) -> None:
        """Nominate the node and evict the victims; the pod is scheduled once they are gone."""
        await self._report(pod, why, nominated=made.node)
        for victim in made.victims:
            if victim.is_deleting:
                continue
            try:
                evicted = await binding.evict(self._client, self._clock, self._name, victim)
            except (ApiError, TransportError) as failure:
                log.info("not preempted: pod=%s failure=%r", victim.key, failure)
                continue
            if evicted is not None:
                said = f"Preempted by pod {pod.uid} on node {made.node}"
                self._recorder.event(evicted, NORMAL, "Preempted", said)
        for other in made.displaced:
            await self._withdraw_nomination(other)

    async def _withdraw_nomination(self, pod: PodView) -> None:
        try:
            await binding.withdraw_nomination(self._client, pod)
        except (ApiError, TransportError) as failure:
            log.info("nomination not withdrawn: pod=%s failure=%r", pod.key, failure)

    async def _report(self, pod: KubeObject, why: str, *, nominated: str | None) -> None:
        try:
            await binding.report_unschedulable(self._client, self._clock, pod, why, nominated)
        except (ApiError, TransportError) as failure:
            log.info("condition not written: pod=%s failure=%r", pod.key, failure)

    async def _bind_with_volumes(self, placement: _Placement, choice: VolumeChoice) -> None:
        """First the claims get their volumes, for this node, then the pod gets the node."""
        key, node = placement.pod.key, placement.node
        try:
            await self._volume_binding.bind(choice, node)
        except (VolumesNotBound, ApiError, TransportError) as failure:
            log.info("volumes not bound: pod=%s node=%s failure=%s", key, node, failure)
            said = f'running PreBind plugin "VolumeBinding": binding volumes: {failure}'
            self._give_up(placement, said)
            return
        finally:
            self._volumes.release(choice)
        async with self._writes:
            await self._bind(placement)

    async def _bind(self, placement: _Placement) -> None:
        pod, node = placement.pod, placement.node
        try:
            await binding.bind(self._client, placement.wanted, node)
        except (ApiError, TransportError) as failure:
            log.info("not bound: pod=%s node=%s failure=%r", pod.key, node, failure)
            self._give_up(placement, f"binding rejected: {failure}")
        else:
            self._queue.forget(pod.key)
            said = f"Successfully assigned {pod.key} to {node}"
            self._recorder.event(pod, NORMAL, "Scheduled", said)

    def _give_up(self, placement: _Placement, why: str) -> None:
        """It keeps no room, and is tried again."""
        pod = placement.pod
        self._state.forget(pod.uid)
        self._queue.failed(pod.key, self._clock.monotonic(), placement.moves)
        self._cluster_changed()  # the room is free again, for this pod too
        self._recorder.event(pod, WARNING, "FailedScheduling", why)

    def __repr__(self) -> str:
        return f"<Scheduler {self._name}: {self._state!r}, {self._queue!r}>"


def _budget(found: KubeObject) -> DisruptionBudget | None:
    """None for a budget that selects nothing."""
    selector = (found.get("spec") or {}).get("selector")
    if selector is None:
        return None
    allowed = int((found.get("status") or {}).get("disruptionsAllowed") or 0)
    return DisruptionBudget(found.namespace, LabelSelector.from_object(selector), allowed)


def _scheduling_fields(node: KubeObject) -> object:
    """What of a node matters here; heartbeats change none of it."""
    status = node.get("status") or {}
    return node.labels, node.get("spec"), status.get("allocatable"), status.get("capacity")
