"""The DaemonSet controller: looks at all nodes for one DaemonSet at a time.

Receives: keys of DaemonSets, from their events, those of their pods and those of nodes.
"""

from __future__ import annotations

from functools import partial

from proreus.api.object import KubeObject
from proreus.api.selectors.labels import LabelSelector
from proreus.api.status import ApiError, NotFound
from proreus.client.controller import Controller, Result, Watch
from proreus.client.informer import Notification
from proreus.cluster.controllers.batches import at_once, slowly
from proreus.cluster.controllers.daemon_set.decisions import (
    Fit,
    fit,
    plan,
    pod_for,
    status_of,
)
from proreus.cluster.controllers.own_writes import OwnWrites, reconciling
from proreus.cluster.controllers.ownership import Claiming, candidates, claim, is_deleting
from proreus.cluster.controllers.pod_template import available_in_s
from proreus.cluster.controllers.setting import Setting


def daemon_set_controller(setting: Setting) -> Controller:
    sync = DaemonSets(setting)
    return Controller(
        reconciling(sync.informer, sync.writes, sync.sync),
        sync.informer,
        owns=[sync.pods],
        watches=[Watch(sync.nodes, lambda _: sync.informer.indexer.keys(), when=is_node_news)],
        name="daemonset",
        concurrency=5,
    )


def is_node_news(told: Notification) -> bool:
    """Heartbeats are no news: only what decides about pods is."""
    old, new = told.old, told.new
    if old is None or new is None:
        return True
    return dict(old.labels) != dict(new.labels) or old.spec != new.spec


class DaemonSets:
    """Brings one DaemonSet at a time to what it wants to be."""

    def __init__(self, setting: Setting) -> None:
        self._client = setting.client
        self._clock = setting.clock
        self._recorder = setting.recorder("daemonset-controller")
        self.informer = setting.informers.informer("daemonsets.apps")
        self.pods = setting.owned("pods")
        self.nodes = setting.informers.informer("nodes")
        self.writes = OwnWrites()

    async def sync(self, daemon_set: KubeObject) -> Result | None:
        pods = self.writes.remaining(daemon_set.key, await self._claim(daemon_set))
        fits = {node.name: fit(daemon_set, node) for node in self.nodes.lister.list()}
        now = self._clock.now()
        if not is_deleting(daemon_set):
            todo = plan(daemon_set, fits, pods, now)
            failures = [
                *await at_once(todo.stop, partial(self._stop, daemon_set)),
                *await slowly(todo.start, partial(self._start, daemon_set)),
            ]
            if failures:
                raise failures[0]
        await self._write_status(daemon_set, fits, pods)
        min_ready_s = daemon_set.spec.minReadySeconds or 0
        delays = [available_in_s(pod, min_ready_s, now) for pod in pods]
        return Result(min((delay for delay in delays if delay), default=None))

    async def _claim(self, daemon_set: KubeObject) -> list[KubeObject]:
        claiming = Claiming(
            self._client.apps_v1.daemonsets,
            self._client.core_v1.pods,
            partial(self.writes.wrote, daemon_set.key, self.pods),
        )
        selector = LabelSelector.from_object(daemon_set.spec.selector)
        found = candidates(self.pods, daemon_set)
        return await claiming.carry_out(daemon_set, claim(daemon_set, found, selector))

    async def _start(self, daemon_set: KubeObject, node: str) -> None:
        api = self._client.core_v1.pods(daemon_set.namespace)
        try:
            created = await api.create(pod_for(daemon_set, node))
        except ApiError as refused:
            message = f"Error creating: {refused.message}"
            self._recorder.event(daemon_set, "Warning", "FailedCreate", message)
            raise
        self.writes.wrote(daemon_set.key, self.pods, created)
        message = f"Created pod: {created.name}"
        self._recorder.event(daemon_set, "Normal", "SuccessfulCreate", message)

    async def _stop(self, daemon_set: KubeObject, pod: KubeObject) -> None:
        try:
            await self._client.core_v1.pods(pod.namespace).delete(pod.name, uid=pod.uid)
        except NotFound:
            return
        self.writes.deleted(daemon_set.key, pod)
        message = f"Deleted pod: {pod.name}"
        self._recorder.event(daemon_set, "Normal", "SuccessfulDelete", message)

    async def _write_status(
        self, daemon_set: KubeObject, fits: dict[str, Fit], pods: list[KubeObject]
    ) -> None:
        status = status_of(daemon_set, fits, pods, self._clock.now())
        if daemon_set.status == status:
            return
        api = self._client.apps_v1.daemonsets(daemon_set.namespace)
        written = await api.replace_status({**daemon_set.to_dict(), "status": status})
        self.writes.wrote(daemon_set.key, self.informer, written)
