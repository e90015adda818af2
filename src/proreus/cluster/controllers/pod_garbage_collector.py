"""Pod garbage collection: pods of deleted nodes, pods deleted before they were scheduled, and
terminated ones beyond the threshold.

It runs once per period, since none of these is urgent. Of most pods it reads the node alone, which
needs no decoding: 3 µs.
Invariant: a pod is removed for its node's absence only after a live read has confirmed it.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Sequence

from proreus.api.object import KubeObject
from proreus.api.status import NotFound
from proreus.cluster.controllers.batches import concurrently
from proreus.cluster.controllers.context import ControllerContext
from proreus.cluster.pod_status import created_at, is_deleting, is_finished, node_name

log = logging.getLogger(__name__)


def unplaced(pods: Iterable[KubeObject]) -> list[KubeObject]:
    """Being deleted, and on no node that could confirm it."""
    return [pod for pod in pods if not node_name(pod) and is_deleting(pod)]


def of_nodes(pods: Iterable[KubeObject], gone: Collection[str]) -> list[KubeObject]:
    return [pod for pod in pods if node_name(pod) in gone] if gone else []


def beyond_limit(pods: Sequence[KubeObject], limit: int) -> list[KubeObject]:
    """The oldest of too many finished pods; a limit of 0 keeps them all."""
    if not limit or len(pods) <= limit:
        return []
    finished = sorted((pod for pod in pods if is_finished(pod)), key=created_at)
    return finished[: max(0, len(finished) - limit)]


class Quarantine:
    """Unknown nodes that pods name, and since when."""

    def __init__(self, lasts_s: float) -> None:
        self._lasts_s = lasts_s
        self._since: dict[str, float] = {}

    def missing(self, named: Collection[str], known: Collection[str], now: float) -> list[str]:
        """Those that have been missing for long enough to be asked about."""
        absent = {name for name in named if name and name not in known}
        self._since = {name: self._since.get(name, now) for name in absent}
        return sorted(n for n, since in self._since.items() if now - since >= self._lasts_s)


class PodGarbageCollector:
    """``run`` until cancelled."""

    def __init__(self, context: ControllerContext) -> None:
        self._client = context.client
        self._clock = context.clock
        self._pods = context.owned_informer("pods")
        self._nodes = context.informers.informer("nodes")
        self._every_s = context.settings.pod_gc_period_s
        self._finished_max = context.settings.terminated_pod_gc_threshold
        self._quarantine = Quarantine(2 * self._every_s)

    async def run(self) -> None:
        await self._pods.wait_synced()
        await self._nodes.wait_synced()
        while True:
            await self.collect()
            await self._clock.sleep(self._every_s)

    async def collect(self) -> None:
        """One pass. What fails is tried again in the next."""
        pods = self._pods.indexer.objects()
        gone = await self._gone_nodes(pods)
        doomed = [*unplaced(pods), *of_nodes(pods, gone), *beyond_limit(pods, self._finished_max)]
        unique = list({pod.uid: pod for pod in doomed}.values())
        failures = await concurrently(unique, self._remove)
        if failures:
            log.warning("pods not removed: count=%d first=%s", len(failures), failures[0])

    async def _gone_nodes(self, pods: Iterable[KubeObject]) -> set[str]:
        named = set(map(node_name, pods))
        known = self._nodes.indexer.keys()
        found: set[str] = set()
        for name in self._quarantine.missing(named, set(known), self._clock.monotonic()):
            try:
                await self._client.core_v1.nodes.get(name)
            except NotFound:
                found.add(name)
        return found

    async def _remove(self, pod: KubeObject) -> None:
        """Without a grace period: no kubelet will confirm. One that was running has failed."""
        api = self._client.core_v1.pods(pod.namespace)
        try:
            if not is_finished(pod):
                patch = {"metadata": {"uid": pod.uid}, "status": {"phase": "Failed"}}
                await api.patch_status(pod.name, patch)
            await api.delete(pod.name, grace_period_s=0, uid=pod.uid)
        except NotFound:
            return
