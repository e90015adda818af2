"""The pods of this process's nodes: made to run, reported and ended.

Receives: keys, from a controller's queue.  Hands on: status patches and deletions.
Decisions are the runtime's; here is only what crosses the wire. A status is written when it says
something new. One that will be outdated in a moment is not written at all, which halves the writes
of a rollout.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from proreus.aio.clock import Clock
from proreus.api.object import KubeObject
from proreus.api.status import Conflict, NotFound
from proreus.client import Client
from proreus.client.controller import Request, Result
from proreus.cluster.kubelet.addresses import NodeAddresses
from proreus.cluster.kubelet.runtimes.runtime import PodAddresses, RunningPod, Runtime
from proreus.cluster.kubelet.runtimes.states import TERMINAL
from proreus.cluster.kubelet.status import is_news, pod_status

_MOMENT_S = 0.3
_GRACE_MIN_S = 1.0


@dataclass(slots=True)
class _Known:
    """A pod that this process runs. ``latest``: as our last write, or the informer, left it."""

    uid: str
    node: str
    addresses: PodAddresses
    running: RunningPod
    latest: KubeObject


class Pods:
    """``reconcile`` one pod. ``nodes`` are the nodes that are ours."""

    def __init__(
        self, client: Client, clock: Clock, nodes: Mapping[str, NodeAddresses], runtime: Runtime
    ) -> None:
        self._client = client
        self._clock = clock
        self._nodes = nodes
        self._runtime = runtime
        self._pods: dict[str, _Known] = {}

    def resume(self, pods: Iterable[KubeObject]) -> None:
        """What ran before this process did, it runs on; before any pod is new, so that none is
        given the address of one that has it already."""
        for pod in pods:
            if pod.spec.nodeName in self._nodes and (pod.get("status") or {}).get("podIP"):
                self._known(pod)

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
            if _phase(pod) in TERMINAL and not pod.metadata.deletionTimestamp:
                return None
            at = self._addresses(pod)
            running = self._runtime.begin(pod, at, self._clock.now())
            known = self._pods[pod.key] = _Known(pod.uid, pod.spec.nodeName, at, running, pod)
        elif int(pod.resource_version) > int(known.latest.resource_version):
            known.running.update(pod)
            known.latest = pod
        return known

    async def _sync(self, known: _Known) -> Result | None:
        pod, running, now = known.latest, known.running, self._clock.now()
        if _phase(pod) in TERMINAL:
            await self._let_go(known)
            return None
        if pod.metadata.deletionTimestamp:
            grace_s = float(pod.metadata.deletionGracePeriodSeconds or 0)
            running.stop(now, max(grace_s, _GRACE_MIN_S))
        running.advance(now)
        due = running.next_due(now)
        if due is not None and due - now < _MOMENT_S:
            return Result(requeue_after_s=due - now)
        if await self._report(known, now) in TERMINAL:
            await self._let_go(known)
            return None
        return None if due is None else Result(requeue_after_s=due - now)

    async def _report(self, known: _Known, now: float) -> str:
        """Returns the phase."""
        pod, at = known.latest, known.addresses
        report = known.running.report(now)
        status = pod_status(pod, report, now, host_ip=at.host_ip, pod_ip=at.pod_ip)
        if is_news(pod, status):
            patch = {"metadata": {"uid": pod.uid}, "status": status}
            pods = self._client.core_v1.pods(pod.namespace)
            known.latest = await pods.patch_status(pod.name, patch, type="strategic")
        return report.phase

    async def _let_go(self, known: _Known) -> None:
        """The last step of a deletion: nothing runs and that is reported, so the object may go."""
        pod = known.latest
        self._nodes[known.node].release(pod.uid)
        # Zero and finalizers: somebody said it already, and the pod is held. Zero alone: whoever
        # said it died before the server was done.
        is_held = pod.metadata.deletionGracePeriodSeconds == 0 and pod.metadata.finalizers
        if pod.metadata.deletionTimestamp and not is_held:
            pods = self._client.core_v1.pods(pod.namespace)
            await pods.delete(pod.name, grace_period_s=0, uid=pod.uid)

    def _addresses(self, pod: KubeObject) -> PodAddresses:
        node = self._nodes[pod.spec.nodeName]
        if pod.spec.hostNetwork:
            return PodAddresses(node.host_ip, node.host_ip)
        before = (pod.get("status") or {}).get("podIP") or ""
        return PodAddresses(node.take(pod.uid, before), node.host_ip)

    def _forget(self, key: str) -> None:
        known = self._pods.pop(key, None)
        if known is not None:
            known.running.remove()
            self._nodes[known.node].release(known.uid)

    def __len__(self) -> int:
        return len(self._pods)

    def __repr__(self) -> str:
        return f"<Pods: {len(self._pods)} on {len(self._nodes)} nodes>"


def _phase(pod: KubeObject) -> str:
    return str((pod.get("status") or {}).get("phase") or "")
