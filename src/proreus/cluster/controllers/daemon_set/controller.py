"""The DaemonSet controller: a pod on every eligible node.

Receives: keys of DaemonSets, from their events, those of their pods and those of nodes.
Hands on: pods, each for one node, and ControllerRevisions.
"""

from __future__ import annotations

from functools import partial

from proreus.api.object import KubeObject
from proreus.client.controller import Controller, Result, Watch
from proreus.client.informer import Notification
from proreus.cluster.controllers.batches import concurrently, slow_start
from proreus.cluster.controllers.context import ControllerContext
from proreus.cluster.controllers.controller_revisions import POD_LABEL, ControllerRevisions, hash_of
from proreus.cluster.controllers.daemon_set.decisions import DaemonSetState, plan, status_of
from proreus.cluster.controllers.daemon_set.failed_pod_backoff import FailedPodBackoff
from proreus.cluster.controllers.daemon_set.nodes import node_fit, node_of, pod_for
from proreus.cluster.controllers.pod_owners import PodOwnerReconciler, until_next_available_s
from proreus.cluster.pod_status import is_deleting, phase


def daemon_set_controller(context: ControllerContext) -> Controller:
    sets = DaemonSets(context)
    every_key = sets.informer.indexer.keys
    nodes = Watch(sets.nodes, lambda _: every_key(), when=is_relevant_node_change)
    return sets.pod_controller("daemonset", nodes, sets.revisions.watch, concurrency=5)


def is_relevant_node_change(notification: Notification) -> bool:
    """Heartbeats change neither labels nor spec."""
    old, new = notification.old, notification.new
    if old is None or new is None:
        return True
    return dict(old.labels) != dict(new.labels) or old.spec != new.spec


class DaemonSets(PodOwnerReconciler):
    """Reconciles DaemonSets."""

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context, "daemonsets.apps", "daemonset-controller")
        self.nodes = context.informers.informer("nodes")
        self.revisions = ControllerRevisions(context, self, POD_LABEL)
        self._failed_pods = FailedPodBackoff()

    async def sync(self, daemon_set: KubeObject) -> Result | None:
        if is_deleting(daemon_set):
            return None
        pods = await self.claim_pods(daemon_set)
        history = await self.revisions.of(daemon_set)
        fit, now = node_fit(daemon_set), self.clock.now()
        fits = {node.name: fit(node) for node in self.nodes.lister.list()}
        state = DaemonSetState(daemon_set, fits, pods, hash_of(daemon_set, history.present), now)
        later_s = await self._carry_out(state)
        await self.write_status(daemon_set, status_of(state, history.collisions))
        hashes = {pod.labels.get(POD_LABEL) for pod in pods}
        live = {one.name for one in history.all if hash_of(daemon_set, one) in hashes}
        await self.revisions.forget(daemon_set, history, live)
        delays = [later_s, until_next_available_s(daemon_set, pods, now)]
        return Result(min((delay for delay in delays if delay), default=None))

    async def _carry_out(self, state: DaemonSetState) -> float:
        """Raises the first failure; after how long a failed pod that must wait may be replaced."""
        daemon_set, todo, delays = state.daemon_set, plan(state), [0.0]
        stop = list(todo.stop)
        for pod in todo.ended:
            delay_s = self._wait_s(state, pod)
            if not delay_s:
                self._record_ended(daemon_set, pod)
                stop.append(pod)
            delays.append(delay_s)

        async def start(node: str) -> None:
            await self.create_pod(daemon_set, pod_for(daemon_set, state.update, node))

        failures = [
            *await concurrently(stop, partial(self.delete_pod, daemon_set)),
            *await slow_start(todo.start, start),
        ]
        if failures:
            raise failures[0]
        return min((delay for delay in delays if delay), default=0.0)

    def _wait_s(self, state: DaemonSetState, pod: KubeObject) -> float:
        if phase(pod) != "Failed":
            return 0.0
        return self._failed_pods.wait_s(f"{state.daemon_set.uid}/{node_of(pod)}", state.now)

    def _record_ended(self, daemon_set: KubeObject, pod: KubeObject) -> None:
        has_failed = phase(pod) == "Failed"
        word, does = ("failed", "kill") if has_failed else ("succeeded", "delete")
        message = f"Found {word} daemon pod {pod.key} on node {node_of(pod)}, will try to {does} it"
        kind = "Warning" if has_failed else "Normal"
        self.recorder.event(daemon_set, kind, f"{word.title()}DaemonPod", message)
