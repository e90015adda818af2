"""The pods of this process's nodes: made to run, reported and ended.

Receives: keys, from a controller's queue.  Hands on: status patches, deletions and events.
Decisions are the runtime's; here is only what crosses the wire. A status is written when it says
something new. One that will be outdated in a moment is not written at all, which halves the writes
of a rollout.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from proreus.aio.clock import Clock
from proreus.api.object import KubeObject
from proreus.api.status import Conflict, NotFound
from proreus.client import Client
from proreus.client.controller import Request, Result
from proreus.client.event_recorder import NORMAL, WARNING, EventRecorder
from proreus.cluster.kubelet.addresses import NodeAddresses
from proreus.cluster.kubelet.runtimes.container import CRASH_LOOP, Running, Waiting
from proreus.cluster.kubelet.runtimes.plan import read_plan
from proreus.cluster.kubelet.runtimes.simulated import TERMINAL, SimulatedPod
from proreus.cluster.kubelet.status import is_news, pod_status

_MOMENT_S = 0.3
_GRACE_MIN_S = 1.0


@dataclass(slots=True)
class _Known:
    """A pod that this process runs. ``latest``: as our last write, or the informer, left it."""

    uid: str
    node: str
    simulated: SimulatedPod
    latest: KubeObject
    is_being_ended: bool = False


class Pods:
    """``reconcile`` one pod. ``nodes`` are the nodes that are ours."""

    def __init__(
        self,
        client: Client,
        clock: Clock,
        nodes: Mapping[str, NodeAddresses],
        recorder: EventRecorder,
    ) -> None:
        self._client = client
        self._clock = clock
        self._nodes = nodes
        self._recorder = recorder
        self._pods: dict[str, _Known] = {}

    async def reconcile(self, request: Request) -> Result | None:
        pod = request.object
        if pod is None or pod.spec.nodeName not in self._nodes:
            self._forget(request.key)
            return None
        known = self._known(pod)
        if known is None:
            return None
        try:
            return await self._sync(known)
        except (NotFound, Conflict):
            return None  # it is gone, or another has its name: the informer will say so

    def _known(self, pod: KubeObject) -> _Known | None:
        """None for a pod that was over before we saw it."""
        known = self._pods.get(pod.key)
        if known is not None and known.uid != pod.uid:
            self._forget(pod.key)
            known = None
        if known is None:
            status = pod.get("status") or {}
            if status.get("phase") in TERMINAL and not pod.metadata.deletionTimestamp:
                return None
            simulated = SimulatedPod(read_plan(pod), self._clock.now(), status)
            known = self._pods[pod.key] = _Known(pod.uid, pod.spec.nodeName, simulated, pod)
        elif int(pod.resource_version) > int(known.latest.resource_version):
            known.simulated.update(read_plan(pod))
            known.latest = pod
        return known

    async def _sync(self, known: _Known) -> Result | None:
        pod, simulated, now = known.latest, known.simulated, self._clock.now()
        if (pod.get("status") or {}).get("phase") in TERMINAL:
            await self._let_go(known)
            return None
        if pod.metadata.deletionTimestamp:
            grace_s = float(pod.metadata.deletionGracePeriodSeconds or 0)
            simulated.stop(now, max(grace_s, _GRACE_MIN_S))
            self._say_killing(known)
        before = _started(simulated)
        simulated.advance(now)
        self._say_started(pod, simulated, before)
        due = simulated.next_due(now)
        if due is not None and due - now < _MOMENT_S:
            return Result(requeue_after_s=due - now)
        await self._report(known, now)
        if simulated.phase in TERMINAL:
            await self._let_go(known)
            return None
        return None if due is None else Result(requeue_after_s=due - now)

    async def _report(self, known: _Known, now: float) -> None:
        pod, node = known.latest, self._nodes[known.node]
        pod_ip = node.host_ip
        if not pod.spec.hostNetwork:
            pod_ip = node.take(pod.uid, (pod.get("status") or {}).get("podIP") or "")
        status = pod_status(pod, known.simulated, now, host_ip=node.host_ip, pod_ip=pod_ip)
        if is_news(pod, status):
            patch = {"metadata": {"uid": pod.uid}, "status": status}
            pods = self._client.core_v1.pods(pod.namespace)
            known.latest = await pods.patch_status(pod.name, patch, type="strategic")

    async def _let_go(self, known: _Known) -> None:
        """The last step of a deletion: nothing runs and that is reported, so the object may go."""
        pod = known.latest
        self._nodes[known.node].release(pod.uid)
        # Zero: somebody said it already, and finalizers hold the pod.
        if pod.metadata.deletionTimestamp and pod.metadata.deletionGracePeriodSeconds != 0:
            pods = self._client.core_v1.pods(pod.namespace)
            await pods.delete(pod.name, grace_period_s=0, uid=pod.uid)

    def _forget(self, key: str) -> None:
        known = self._pods.pop(key, None)
        if known is not None:
            self._nodes[known.node].release(known.uid)

    def _say_killing(self, known: _Known) -> None:
        if known.is_being_ended:
            return
        known.is_being_ended = True
        for container in known.simulated.containers:
            if isinstance(container.state, Running):
                said = f"Stopping container {container.plan.name}"
                self._recorder.event(known.latest, NORMAL, "Killing", said)

    def _say_started(
        self, pod: KubeObject, simulated: SimulatedPod, before: Mapping[str, float | None]
    ) -> None:
        for container in (*simulated.init, *simulated.containers):
            name, state = container.plan.name, container.state
            if isinstance(state, Running) and before[name] != state.started_at:
                self._recorder.event(pod, NORMAL, "Started", f"Container started: {name}")
            elif isinstance(state, Waiting) and state.reason == CRASH_LOOP and before[name]:
                said = f"Back-off restarting failed container {name} in pod {pod.name}"
                self._recorder.event(pod, WARNING, "BackOff", said)

    def __len__(self) -> int:
        return len(self._pods)

    def __repr__(self) -> str:
        return f"<Pods: {len(self._pods)} on {len(self._nodes)} nodes>"


def _started(simulated: SimulatedPod) -> dict[str, float | None]:
    """Since when each container runs."""
    return {
        c.plan.name: c.state.started_at if isinstance(c.state, Running) else None
        for c in (*simulated.init, *simulated.containers)
    }
