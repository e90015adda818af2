"""The garbage collector: monitors of every resource feed the graph, workers act on what it names.

Receives: metadata of all objects, from one informer per discovered resource.  Hands on: deletions,
and patches of owner references and finalizers (``attending``).
Invariant: nothing is deleted because a cache lacks its owner; absence is always seen live.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging

from proreus.aio.clock import deadline
from proreus.aio.gate import Gate
from proreus.api.status import ApiError
from proreus.client.discovery.api_resource import ApiResource
from proreus.client.discovery.mapper import UnknownResource
from proreus.client.informer import Notification, SharedInformer
from proreus.client.workqueue import RateLimitedQueue
from proreus.cluster.controllers.discovered import client_of, discover, with_verbs
from proreus.cluster.controllers.garbage_collector.attending import Attending
from proreus.cluster.controllers.garbage_collector.graph import Graph, node_of
from proreus.cluster.controllers.setting import Setting
from proreus.net.transport_error import TransportError

log = logging.getLogger(__name__)

WORKERS = 20
DISCOVER_EVERY_S = 30.0
_SYNC_S = 10.0
_DEFINITIONS = "customresourcedefinitions"


class GarbageCollector:
    """A part: ``run`` until cancelled. Once only."""

    def __init__(self, setting: Setting) -> None:
        self._client = setting.client
        self._clock = setting.clock
        self._graph = Graph()
        # Unbounded: it holds each uid of the graph at most once.
        self._queue = RateLimitedQueue[str]("garbage-collector", clock=setting.clock)
        self._attending = Attending(setting.client, self._graph, self._queue.add)
        self._monitors: dict[ApiResource, tuple[SharedInformer, asyncio.Task[None]]] = {}
        self._look_now = Gate()

    async def run(self) -> None:
        async with asyncio.TaskGroup() as parts:
            await self._discover(parts)
            await self._wait_monitors()
            for number in range(WORKERS):
                parts.create_task(self._work(), name=f"garbage collector worker {number}")
            while True:
                with contextlib.suppress(TimeoutError):
                    async with deadline(self._clock, DISCOVER_EVERY_S):
                        await self._look_now.wait_open()
                self._look_now.shut()
                await self._discover(parts)

    # Monitors

    async def _discover(self, parts: asyncio.TaskGroup) -> None:
        """Follow what the server has. A part it cannot tell about keeps its monitors."""
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
                self._drop(resource)

    def _monitor(self, resource: ApiResource, parts: asyncio.TaskGroup) -> None:
        def tell(told: Notification) -> None:
            self._tell(resource, told)

        source = client_of(self._client, resource).metadata_only.list_watch()
        informer = SharedInformer(source, str(resource), clock=self._clock)
        informer.add_handler(on_notification=tell, name="garbage collector")
        task = parts.create_task(informer.run(), name=f"monitor {resource}")
        self._monitors[resource] = informer, task

    def _drop(self, resource: ApiResource) -> None:
        _, task = self._monitors.pop(resource)
        task.cancel()
        for uid in self._graph.uids_of(resource):
            for other in self._graph.remove(uid):
                self._queue.add(other)

    async def _wait_monitors(self) -> None:
        """So that what is not there yet is not taken for gone and asked about one by one."""
        with contextlib.suppress(TimeoutError):
            async with deadline(self._clock, _SYNC_S):
                for informer, _ in list(self._monitors.values()):
                    await informer.wait_synced()

    def _tell(self, resource: ApiResource, told: Notification) -> None:
        obj, old = told.object, told.old
        concerned: list[str] = []
        if old is not None and (told.new is None or old.uid != told.new.uid):
            concerned += self._graph.remove(old.uid)
        if told.new is not None:
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
                await self._attending.attend(uid)
            except (ApiError, TransportError, UnknownResource) as failure:
                delay_s = self._queue.add_rate_limited(uid)
                log.debug("not collected: uid=%s reason=%s again_s=%.3f", uid, failure, delay_s)
            else:
                self._queue.forget(uid)
            finally:
                self._queue.done(uid)

    def __repr__(self) -> str:
        return f"<GarbageCollector of {len(self._graph)} objects, {len(self._queue)} waiting>"
