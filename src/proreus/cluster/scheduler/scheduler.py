"""The scheduler: informers → queue → cycle → assume → binding, several bindings in flight.

Receives: pods and nodes, from two informers.  Hands on: bindings, conditions and events.
One loop decides, one pod after the other, on the believed state of the cluster; only writing is
concurrent. Invariant: between taking a pod and assuming it there is no await, so no two decisions
use the same room. At most ``_WRITES_MAX`` writes are under way; then deciding waits.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
from collections.abc import Coroutine

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
from proreus.cluster.leading import Candidacy, lead
from proreus.cluster.scheduler import binding
from proreus.cluster.scheduler.cluster_state import ClusterState
from proreus.cluster.scheduler.cycle import Cycle, Placed, Unschedulable
from proreus.cluster.scheduler.pod import (
    DEFAULT_SCHEDULER,
    PodView,
    is_finished,
    wants_scheduling,
)
from proreus.cluster.scheduler.preemption import (
    Budget,
    MakeRoom,
    NoRoom,
    is_waiting_for_room,
    preempt,
)
from proreus.cluster.scheduler.queue import SchedulingQueue

log = logging.getLogger(__name__)

LEASE_NAME = "proreus-scheduler"
_WRITES_MAX = 16
_LOOK_AGAIN_S = 30.0  # how often pods that are parked for too long are looked for


async def run_scheduler(
    client: Client, clock: Clock, *, candidacy: Candidacy | None = None
) -> None:
    """Until cancelled. With a ``candidacy``, of several callers one works at a time."""

    async def work(own: Client) -> None:
        await Scheduler(own, clock).run()

    if candidacy is None:
        await work(client)
    else:
        await lead(client, clock, LEASE_NAME, candidacy, work)


class Scheduler:
    """Places the pods that name ``name`` as their scheduler. ``run`` it once."""

    def __init__(
        self,
        client: Client,
        clock: Clock,
        *,
        name: str = DEFAULT_SCHEDULER,
        chance: random.Random | None = None,
    ) -> None:
        self._client = client
        self._clock = clock
        self._name = name
        self._cycle = Cycle(chance or random.Random())
        self._state = ClusterState()
        self._queue = SchedulingQueue()
        self._budgets: Lister
        self._news = Gate()
        self._writes = asyncio.Semaphore(_WRITES_MAX)
        self._recorder = EventRecorder(client.core_v1.events, name, clock=clock)

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
            handlers = [
                nodes.add_handler(on_notification=self._node_changed, name="scheduler"),
                pods.add_handler(on_notification=self._pod_changed, name="scheduler"),
            ]
            informers.start()
            await informers.wait_for_cache_sync()
            # Deciding on half a cluster would put pods where there is no room.
            for handler in handlers:
                await handler.wait_synced()
            async with asyncio.TaskGroup() as writes:
                await self._schedule(pods, writes)

    # What happens in the cluster

    def _node_changed(self, notification: Notification) -> None:
        old, new = notification.old, notification.new
        if new is None:
            self._state.remove_node(notification.object.name)
        elif old is None or _offer(old) != _offer(new):
            self._state.put_node(new)
        else:
            return  # a heartbeat
        self._cluster_changed()

    def _pod_changed(self, notification: Notification) -> None:
        old, new = notification.old, notification.new
        if old is not None and (new is None or new.uid != old.uid):
            self._queue.forget(old.key)
            if self._state.remove_pod(old.uid):
                self._cluster_changed()
            old = None
        if new is None or (old is not None and _asks_the_same(old, new)):
            return
        if is_finished(new):
            self._queue.forget(new.key)
            if self._state.remove_pod(new.uid):
                self._cluster_changed()
        elif new.spec is not None and new.spec.nodeName:
            self._queue.forget(new.key)
            self._state.put_pod(PodView.read(new))
            self._cluster_changed()  # it may be the company that another pod waits for
        elif wants_scheduling(new, self._name):
            if old is None and new.status is not None and new.status.nominatedNodeName:
                # From our last life: room was made for it.
                self._state.nominate(PodView.read(new), new.status.nominatedNodeName)
            self._queue.add(new.key, new.spec.priority or 0, self._clock.monotonic())
            self._news.open()
        else:
            self._queue.forget(new.key)

    def _cluster_changed(self) -> None:
        self._queue.cluster_changed()
        self._news.open()

    # What is done about it

    async def _schedule(self, pods: SharedInformer, writes: asyncio.TaskGroup) -> None:
        while True:
            await self._writes.acquire()
            try:
                pod = await self._next_pod(pods)
            except BaseException:
                self._writes.release()
                raise
            write = writes.create_task(self._place(pod), name=f"place {pod.key}")
            write.add_done_callback(lambda _: self._writes.release())

    async def _next_pod(self, pods: SharedInformer) -> KubeObject:
        """Waits as long as there is nothing to place."""
        while True:
            self._news.shut()
            now = self._clock.monotonic()
            self._queue.unpark_overdue(now)
            key = self._queue.take(now)
            if key is None:
                ready_in_s = self._queue.next_ready_in(now)
                wait_s = _LOOK_AGAIN_S if ready_in_s is None else min(ready_in_s, _LOOK_AGAIN_S)
                with contextlib.suppress(TimeoutError):
                    async with deadline(self._clock, wait_s):
                        await self._news.wait_open()
                continue
            pod = pods.indexer.get(key)
            if pod is None or not wants_scheduling(pod, self._name):
                self._queue.forget(key)
            elif self._state.is_placed(pod.uid):
                # Bound by us, but the informer does not know yet: it will say so.
                self._queue.forget(key)
            else:
                return pod

    def _place(self, pod: KubeObject) -> Coroutine[None, None, None]:
        """Decide now; the write that follows from it is returned."""
        moves, wanted = self._queue.moves, PodView.read(pod)
        decision = self._cycle.decide(wanted, self._state.nodes)
        if isinstance(decision, Placed):
            self._state.assume(wanted, decision.node)
            return self._bind(pod, wanted, decision.node, moves)
        return self._wait_after(self._refuse(pod, wanted, decision), pod.key, moves)

    def _refuse(
        self, pod: KubeObject, wanted: PodView, decision: Unschedulable
    ) -> Coroutine[None, None, None]:
        made = self._room_for(wanted, decision)
        if isinstance(made, MakeRoom):
            for other in made.displaced:
                self._state.withdraw(other.uid)
            self._state.nominate(wanted, made.node)
            self._recorder.event(pod, WARNING, "FailedScheduling", decision.message)
            return self._make_room(pod, made, decision.message)
        why = f"{decision.message} {made.why}".rstrip()
        self._recorder.event(pod, WARNING, "FailedScheduling", why)
        if made.keeps_nomination:
            return self._report(pod, why, nominated=None)
        self._state.withdraw(wanted.uid)
        return self._report(pod, why, nominated="")

    async def _wait_after(self, write: Coroutine[None, None, None], key: str, moves: int) -> None:
        """The pod is looked at again only after the write about its last try: written late, that
        would contradict what became of it since."""
        try:
            await write
        finally:
            self._queue.failed(key, self._clock.monotonic(), moves)
            self._news.open()

    def _room_for(self, wanted: PodView, decision: Unschedulable) -> MakeRoom | NoRoom:
        if not decision.refusals:
            return NoRoom("")
        if is_waiting_for_room(wanted, self._state.nomination(wanted.uid)):
            why = "preemption: not eligible due to a terminating pod on the nominated node."
            return NoRoom(why, keeps_nomination=True)
        budgets = [budget for one in self._budgets.list() if (budget := _budget(one)) is not None]
        return preempt(wanted, self._state.nodes, decision.refusals, budgets)

    async def _make_room(self, pod: KubeObject, made: MakeRoom, why: str) -> None:
        """Tell where the pod will go and ask the victims to leave; once they have, it is placed."""
        await self._report(pod, why, nominated=made.node)
        for victim in made.victims:
            if victim.is_going:
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

    async def _bind(self, pod: KubeObject, wanted: PodView, node: str, moves: int) -> None:
        try:
            await binding.bind(self._client, wanted, node)
        except (ApiError, TransportError) as failure:
            log.info("not bound: pod=%s node=%s failure=%r", pod.key, node, failure)
            self._state.forget(wanted.uid)
            self._queue.failed(pod.key, self._clock.monotonic(), moves)
            self._cluster_changed()  # the room is free again, for this pod too
            said = f"binding rejected: {failure}"
            self._recorder.event(pod, WARNING, "FailedScheduling", said)
        else:
            self._queue.forget(pod.key)
            said = f"Successfully assigned {pod.key} to {node}"
            self._recorder.event(pod, NORMAL, "Scheduled", said)

    def __repr__(self) -> str:
        return f"<Scheduler {self._name}: {self._state!r}, {self._queue!r}>"


def _budget(found: KubeObject) -> Budget | None:
    """None for a budget that selects nothing."""
    selector = (found.get("spec") or {}).get("selector")
    if selector is None:
        return None
    allowed = int((found.get("status") or {}).get("disruptionsAllowed") or 0)
    return Budget(found.namespace, LabelSelector.from_object(selector), allowed)


def _offer(node: KubeObject) -> object:
    """What of a node matters here; heartbeats change none of it."""
    status = node.get("status") or {}
    return node.labels, node.get("spec"), status.get("allocatable"), status.get("capacity")


def _asks_the_same(old: KubeObject, new: KubeObject) -> bool:
    """Whether an update, of a status say, leaves the pod where it was for a scheduler."""
    return (
        old.labels == new.labels
        and is_finished(old) == is_finished(new)
        and old.metadata.deletionTimestamp == new.metadata.deletionTimestamp
        and old.get("spec") == new.get("spec")
    )
