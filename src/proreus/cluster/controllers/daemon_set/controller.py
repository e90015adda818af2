"""The DaemonSet controller: looks at all nodes for one DaemonSet at a time.

Receives: keys of DaemonSets, from their events, those of their pods and those of nodes.
Hands on: pods, each for one node, and ControllerRevisions.
"""

from __future__ import annotations

from functools import partial

from proreus.api.object import KubeObject
from proreus.client.controller import Controller, Result, Watch
from proreus.client.informer import Notification
from proreus.cluster.controllers.batches import at_once, slowly
from proreus.cluster.controllers.controller_revisions import (
    POD_LABEL,
    ControllerRevisions,
    hash_of,
)
from proreus.cluster.controllers.daemon_set.decisions import Moment, plan, status_of
from proreus.cluster.controllers.daemon_set.failures import Failures
from proreus.cluster.controllers.daemon_set.nodes import fitting, node_of, pod_for
from proreus.cluster.controllers.ownership import is_deleting
from proreus.cluster.controllers.pod_owners import PodOwners, next_availability_s
from proreus.cluster.controllers.pod_template import phase
from proreus.cluster.controllers.setting import Setting

WORKERS = 5


def daemon_set_controller(setting: Setting) -> Controller:
    owners = PodOwners(setting, "daemonsets.apps", "daemonset-controller")
    sync = DaemonSets(setting, owners)
    nodes = Watch(sync.nodes, lambda _: owners.informer.indexer.keys(), when=is_node_news)
    watches = [nodes, sync.revisions.watch]
    return owners.controller(sync.sync, "daemonset", concurrency=WORKERS, watches=watches)


def is_node_news(told: Notification) -> bool:
    """Heartbeats are no news: only what decides about pods is."""
    old, new = told.old, told.new
    if old is None or new is None:
        return True
    return dict(old.labels) != dict(new.labels) or old.spec != new.spec


class DaemonSets:
    """Brings one DaemonSet at a time to what it wants to be."""

    def __init__(self, setting: Setting, owners: PodOwners) -> None:
        self._owners = owners
        self._clock = setting.clock
        self.nodes = setting.informers.informer("nodes")
        self.revisions = ControllerRevisions(setting, owners, POD_LABEL)
        self._failures = Failures()

    async def sync(self, daemon_set: KubeObject) -> Result | None:
        if is_deleting(daemon_set):
            return None
        pods = await self._owners.claim(daemon_set)
        history = await self.revisions.of(daemon_set)
        fit, now = fitting(daemon_set), self._clock.now()
        fits = {node.name: fit(node) for node in self.nodes.lister.list()}
        moment = Moment(daemon_set, fits, pods, hash_of(daemon_set, history.present), now)
        later_s = await self._carry_out(moment)
        await self._owners.write_status(daemon_set, status_of(moment, history.collisions))
        hashes = {pod.labels.get(POD_LABEL) for pod in pods}
        live = {one.name for one in history.all if hash_of(daemon_set, one) in hashes}
        await self.revisions.forget(daemon_set, history, live)
        delays = [later_s, next_availability_s(daemon_set, pods, now)]
        return Result(min((delay for delay in delays if delay), default=None))

    async def _carry_out(self, moment: Moment) -> float:
        """Raises the first failure; after how long a failed pod that must wait may be replaced."""
        daemon_set, todo, delays = moment.daemon_set, plan(moment), [0.0]
        stop = list(todo.stop)
        for pod in todo.ended:
            delay_s = self._wait_s(moment, pod)
            if not delay_s:
                self._tell_ended(daemon_set, pod)
                stop.append(pod)
            delays.append(delay_s)

        async def start(node: str) -> None:
            await self._owners.create(daemon_set, pod_for(daemon_set, moment.update, node))

        failures = [
            *await at_once(stop, partial(self._owners.delete, daemon_set)),
            *await slowly(todo.start, start),
        ]
        if failures:
            raise failures[0]
        return min((delay for delay in delays if delay), default=0.0)

    def _wait_s(self, moment: Moment, pod: KubeObject) -> float:
        if phase(pod) != "Failed":
            return 0.0
        return self._failures.wait_s(f"{moment.daemon_set.uid}/{node_of(pod)}", moment.now)

    def _tell_ended(self, daemon_set: KubeObject, pod: KubeObject) -> None:
        has_failed = phase(pod) == "Failed"
        word, does = ("failed", "kill") if has_failed else ("succeeded", "delete")
        message = f"Found {word} daemon pod {pod.key} on node {node_of(pod)}, will try to {does} it"
        kind = "Warning" if has_failed else "Normal"
        self._owners.recorder.event(daemon_set, kind, f"{word.title()}DaemonPod", message)
