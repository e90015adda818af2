"""The quota controller: recounts what admission has charged, and writes the status.

Receives: keys of ResourceQuotas, from their events and from what is deleted or changed in their
namespaces. Only resources that some quota names are watched, so without quotas it costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterable

from proreus.aio.clock import deadline
from proreus.api.group_version import GroupResource
from proreus.api.object import KubeObject
from proreus.api.quota_usage import CLAIMS, DEVICE_CLAIMS, PODS, SERVICES
from proreus.client.controller import Result
from proreus.client.discovery.mapper import UnknownResource
from proreus.client.informer import Handler, Notification, SharedInformer
from proreus.cluster.controllers.context import ControllerContext
from proreus.cluster.controllers.reconciler import ObjectReconciler
from proreus.cluster.controllers.resource_quota.counting import (
    count,
    counted_resources,
    is_above_count,
    is_first_count,
    may_change_usage,
    status_of,
)
from proreus.cluster.pod_status import is_deleting

RESYNC_S = 300.0
QUIET_S = 0.5  # far longer than a request takes from its charge to its write
_SYNC_S = 10.0
_QUOTAS = GroupResource("", "resourcequotas")
_WHOLE = (PODS, SERVICES, CLAIMS, DEVICE_CLAIMS)  # of others the metadata is enough


class ResourceQuotas(ObjectReconciler):
    """Reconciles ResourceQuotas. ``run`` until cancelled, once only."""

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context, "resourcequotas")
        self._charged: dict[str, tuple[str, float]] = {}  # resource version, and since when
        self._monitors: dict[GroupResource, SharedInformer] = {}
        self._handlers: list[tuple[SharedInformer, Handler]] = []
        self._controller = self.controller("resourcequota")

    async def run(self) -> None:
        try:
            await self._controller.run()
        finally:
            for informer, handler in self._handlers:
                informer.remove_handler(handler)

    def forget(self, key: str) -> None:
        self._charged.pop(key, None)

    async def sync(self, quota: KubeObject) -> Result | None:
        if is_deleting(quota):
            return None
        # First since when the quota is unchanged, then the count: not the other way round.
        quiet_s = self._quiet_s(quota)
        objects = {}
        for resource in counted_resources(quota):
            monitor = await self._monitor(resource)
            if monitor is not None:
                objects[resource] = monitor.lister.list(namespace=quota.namespace)
        counted = count(quota, objects)
        may_fall, is_first = quiet_s >= QUIET_S, is_first_count(quota)
        if is_first or (may_fall and is_above_count(quota, counted)):
            # What was charged is stored by now, but a cache may be behind by any time. Of what was
            # there before the limit nothing was charged, so a first count must not miss it.
            counted = count(quota, {each: await self._live(quota, each) for each in objects})
        status = status_of(quota, counted, may_fall=may_fall)
        await self.write_status(quota, status)
        if is_first:
            return Result(QUIET_S)  # for what was admitted before the limit and stored after
        is_early = is_above_count(quota, counted) and not may_fall
        return Result(QUIET_S - quiet_s if is_early else RESYNC_S)

    async def _live(self, quota: KubeObject, resource: GroupResource) -> Iterable[KubeObject]:
        api = self.client.resource(str(resource))(quota.namespace)
        return await (api if resource in _WHOLE else api.metadata_only).list_all()

    def _quiet_s(self, quota: KubeObject) -> float:
        """For how long the quota has not been charged, as observed here."""
        now = self.clock.monotonic()
        version, since = self._charged.get(quota.key, ("", now))
        if version != quota.resource_version:
            since = now
        self._charged[quota.key] = (quota.resource_version, since)
        return now - since

    async def _monitor(self, resource: GroupResource) -> SharedInformer | None:
        """The informer of a resource, synced; None if the server has no such resource."""
        monitor = self._monitors.get(resource)
        if monitor is None:
            try:
                await self.client.resource(str(resource)).api_resource()
            except UnknownResource:
                return None
            monitor = self._monitors.get(resource) or self._begin(resource)
        async with deadline(self.clock, _SYNC_S):
            await monitor.wait_synced()
        return monitor

    def _begin(self, resource: GroupResource) -> SharedInformer:
        informers = self._context.informers
        if resource == PODS:
            monitor = self._context.owned_informer("pods")
        elif resource == _QUOTAS:
            monitor = self.informer
        else:
            is_partial = resource not in _WHOLE
            monitor = informers.informer(str(resource), metadata_only=is_partial)
        handler = monitor.add_handler(on_notification=self._enqueue_quotas, name="resource quotas")
        self._handlers.append((monitor, handler))
        self._monitors[resource] = monitor
        informers.start()
        return monitor

    def _enqueue_quotas(self, notification: Notification) -> None:
        if may_change_usage(notification):
            for quota in self.informer.lister.list(namespace=notification.object.namespace):
                self._controller.queue.add(quota.key)
