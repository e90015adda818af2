"""The garbage collector: monitors of every resource feed the graph, workers act on what it names.

Receives: metadata of all objects, from one informer per discovered resource: that of the other
controllers if they have one, else one of metadata alone.  Hands on: deletions, and patches of owner
references and finalizers (``processing``).
Invariant: nothing is deleted because a cache lacks its owner; a live read must lack it too.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from dataclasses import dataclass

from proreus.aio.clock import deadline
from proreus.aio.gate import Gate
from proreus.aio.tasks import as_part
from proreus.api.status import ApiError
from proreus.client.discovery.api_resource import ApiResource
from proreus.client.discovery.mapper import UnknownResource
from proreus.client.informer import Handler, Notification, SharedInformer
from proreus.client.workqueue import RateLimitedQueue
from proreus.cluster.controllers.context import ControllerContext
from proreus.cluster.controllers.discovered import discover, resource_client, with_verbs
from proreus.cluster.controllers.garbage_collector.graph import Graph, node_of
from proreus.cluster.controllers.garbage_collector.processing import ObjectProcessor
from proreus.net.client.transport_error import TransportError

log = logging.getLogger(__name__)

WORKERS = 20
DISCOVER_EVERY_S = 30.0
_SYNC_S = 10.0
_DEFINITIONS = "customresourcedefinitions"


@dataclass(frozen=True, slots=True)
class _Monitor:
    """``task`` runs the informer, if it is the collector's own."""

    informer: SharedInformer
    handler: Handler
    task: asyncio.Task[None] | None

    def stop(self) -> None:
        self.informer.remove_handler(self.handler)
        if self.task is not None:
            self.task.cancel()


class GarbageCollector:
    """A part: ``run`` until cancelled. Once only."""

    def __init__(self, context: ControllerContext) -> None:
        self._client = context.client
        self._clock = context.clock
        self._graph = Graph()
        # Unbounded: it holds each uid of the graph at most once.
        self._queue = RateLimitedQueue[str]("garbage-collector", clock=context.clock)
        self._processor = ObjectProcessor(context.client, self._graph)
        self._informers = context.informers
        self._monitors: dict[ApiResource, _Monitor] = {}
        self._look_now = Gate()

    async def run(self) -> None:
        try:
            await self._run()
        finally:
            for monitor in self._monitors.values():
                monitor.stop()

    async def _run(self) -> None:
        async with asyncio.TaskGroup() as parts:
            await self._discover(parts)
            await self._wait_monitors()
            for number in range(WORKERS):
                parts.create_task(as_part(self._work), name=f"garbage collector worker {number}")
            while True:
                with contextlib.suppress(TimeoutError):
                    async with deadline(self._clock, DISCOVER_EVERY_S):
                        await self._look_now.wait_open()
                self._look_now.shut()
                await self._discover(parts)

    # Monitors

    async def _discover(self, parts: asyncio.TaskGroup) -> None:
        """Follow what the server has. A group whose discovery fails keeps its monitors."""
        try:
            known = await discover(self._client)
        except (ApiError, TransportError) as failure:
            log.warning("discovery failed, keeping what is known: reason=%s", failure)
            return
        resources = set(with_verbs(known.resources, "delete", "list", "watch"))
        resources = {one for one in resources if one.name != "events"}
        for resource in resources - self._monitors.keys():
            self._monitor(resource, parts)
        if not known.failures:
            for resource in self._monitors.keys() - resources:
                self._stop_monitor(resource)

    def _monitor(self, resource: ApiResource, parts: asyncio.TaskGroup) -> None:
        def update(notification: Notification) -> None:
            self._update_graph(resource, notification)

        informer, task = self._informers.find(str(resource)), None
        if informer is None:
            everywhere = resource_client(self._client, resource).in_all_namespaces()
            source = everywhere.metadata_only.list_watch()
            informer = SharedInformer(source, str(resource), clock=self._clock)
            task = parts.create_task(informer.run(), name=f"monitor {resource}")
        handler = informer.add_handler(
            on_notification=update, name="garbage collector", is_immediate=True
        )
        self._monitors[resource] = _Monitor(informer, handler, task)

    def _stop_monitor(self, resource: ApiResource) -> None:
        self._monitors.pop(resource).stop()
        for uid in self._graph.uids_of(resource):
            for other in self._graph.remove(uid):
                self._queue.add(other)

    async def _wait_monitors(self) -> None:
        """So that what is not there yet is not taken for gone and asked about one by one."""
        with contextlib.suppress(TimeoutError):
            async with deadline(self._clock, _SYNC_S):
                for monitor in list(self._monitors.values()):
                    await monitor.handler.wait_synced()

    def _update_graph(self, resource: ApiResource, notification: Notification) -> None:
        obj, old = notification.object, notification.old
        concerned: list[str] = []
        if old is not None and (notification.new is None or old.uid != notification.new.uid):
            concerned += self._graph.remove(old.uid)
        if notification.new is not None:
            concerned += self._graph.put(node_of(resource, obj))
        for uid in concerned:
            self._queue.add(uid)
        if resource.name == _DEFINITIONS:
            self._look_now.open()

    # Workers

    async def _work(self) -> None:
        while True:
            uid = await self._queue.get()
            try:
                await self._processor.process(uid)
            except (ApiError, TransportError, UnknownResource) as failure:
                delay_s = self._queue.add_rate_limited(uid)
                log.debug("not collected: uid=%s reason=%s again_s=%.3f", uid, failure, delay_s)
            else:
                self._queue.forget(uid)
            finally:
                self._queue.done(uid)

    def __repr__(self) -> str:
        return f"<GarbageCollector of {len(self._graph)} objects, {len(self._queue)} waiting>"
