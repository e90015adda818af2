"""Every group version that another API server serves, by name; follows the APIService objects.

Receives: API services, services and endpoint slices, in the turn of their events. Hands on: routes
for requests (``find``), priorities and remote versions for discovery (``ApiServices``).
A server without remote versions pays one look at an empty dictionary per request.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from functools import partial
from typing import Any

import structlog

from proreus.aio.backoff import Backoff
from proreus.aio.tasks import supervise
from proreus.api.json_types import Json
from proreus.api.status import ApiError
from proreus.api.wire import splice
from proreus.server.aggregation.api_service import REGISTRATION, ApiService
from proreus.server.aggregation.availability import LOCAL
from proreus.server.aggregation.backend import Address, Backend, Surroundings
from proreus.server.aggregation.local_services import LocalApiServices
from proreus.server.aggregation.remote import Remote, RemoteParts
from proreus.server.discovery.api_services import ApiServices
from proreus.server.discovery.openapi.merging import RemoteSpec
from proreus.server.registry.collections import Collections
from proreus.server.storage.interface import StorageError
from proreus.server.watch_cache.cache_follower import CacheFollower
from proreus.server.watch_cache.object import CachedObject
from proreus.server.webhooks.client_config import ServiceReference
from proreus.server.webhooks.service_resolver import ServiceResolver

_log = structlog.get_logger(__name__)
_UNREADABLE = "API service is unreadable and has no effect"
SERVICE_LABEL = "kubernetes.io/service-name"


class BehindServices:
    """Services and what is behind them, from their watch caches; addresses are remembered until
    one of these objects changes."""

    def __init__(self, collections: Collections) -> None:
        self._services = collections.named("", "v1", "services")
        self._slices = collections.named("discovery.k8s.io", "v1", "endpointslices")
        self._resolver = ServiceResolver(collections)
        self._addresses: dict[ServiceReference, Sequence[Address]] = {}

    def addresses(self, reference: ServiceReference) -> Sequence[Address]:
        """Raises UnresolvedService."""
        found = self._addresses.get(reference)
        if found is None:
            found = self._addresses[reference] = self._resolver.resolve_all(reference)
        return found

    def forget(self, reference: ServiceReference) -> None:
        self._addresses.pop(reference, None)

    def objects(self, reference: ServiceReference) -> tuple[Json | None, Sequence[Json]]:
        service = self._services.cache.peek(f"{reference.namespace}/{reference.name}")
        slices = [
            splice.decode_item(found.item)
            for found in self._slices.cache.peek_all(reference.namespace) or ()
            if found.labels.get(SERVICE_LABEL) == reference.name
        ]
        return (None if service is None else splice.decode_item(service.item)), slices


class Remotes:
    """``run`` owns the tasks of all remotes."""

    def __init__(
        self,
        collections: Collections,
        local: LocalApiServices,
        behind: BehindServices,
        around: Surroundings,
        parts: RemoteParts,
    ) -> None:
        self._local = local
        self._behind = behind
        self._around = around
        self._parts = parts
        self._by_version: dict[tuple[str, str], Remote] = {}
        self._services: dict[str, ApiService] = {}
        self._tasks: asyncio.TaskGroup | None = None
        self._running: dict[Remote, asyncio.Task[None]] = {}
        self._follow(collections)

    def find(self, group: str, version: str) -> Remote | None:
        return self._by_version.get((group, version))

    def __bool__(self) -> bool:
        return bool(self._by_version)

    @property
    def is_running(self) -> bool:
        return self._tasks is not None

    def end_streams(self) -> None:
        """Before a shutdown: watches and streams would not end by themselves."""
        for remote in self._by_version.values():
            remote.backend.end_streams()

    @property
    def table(self) -> ApiServices:
        return self._parts.table

    async def openapi_specs(self) -> tuple[RemoteSpec, ...]:
        """OpenAPI v2 documents of those that have one."""
        present = [one for one in self._by_version.values() if one.service.is_available]
        async with asyncio.TaskGroup() as asking:
            tasks = [asking.create_task(remote.openapi_spec()) for remote in present]
        return tuple(spec for task in tasks if (spec := task.result()) is not None)

    async def run(self) -> None:
        """For ever."""
        try:
            async with asyncio.TaskGroup() as tasks:
                self._tasks = tasks
                for service in self._services.values():
                    self._note_local(service)
                for remote in self._by_version.values():
                    self._start(remote)
                try:
                    await asyncio.Event().wait()
                finally:
                    self._tasks = None
        finally:
            for remote in self._by_version.values():
                await remote.backend.close()

    # From the watch caches

    def _follow(self, collections: Collections) -> None:
        services = collections.named(*REGISTRATION).cache
        services.follow(CacheFollower(self._clear, self._put, self._removed, _UNREADABLE))
        for group, plural, changed in (
            ("", "services", self._named_changed),
            ("", "endpoints", self._named_changed),
            ("discovery.k8s.io", "endpointslices", self._slice_changed),
        ):
            cache = collections.named(group, "v1", plural).cache
            cache.follow(CacheFollower(self._all_changed, changed, changed, _UNREADABLE))

    def _clear(self) -> None:
        for service in list(self._services.values()):
            self._forget(service)

    def _put(self, found: CachedObject) -> None:
        service = ApiService.of(splice.decode_item(found.item))
        self._services[found.name] = service
        self._local.note(service)
        where = service.group_version
        remote = self._by_version.get((where.group, where.version))
        if remote is not None and remote.service.backend == service.backend:
            remote.update(service)
            return
        if remote is not None:
            self._end(remote)
        if service.backend is None:
            self._parts.table.put(where, service.priority, None)
            self._note_local(service)
            return
        made = Remote(service, Backend(service.backend, self._around), self._parts)
        self._by_version[where.group, where.version] = made
        made.publish()
        self._start(made)

    def _removed(self, found: CachedObject) -> None:
        service = self._services.get(found.name)
        if service is not None:
            self._forget(service)

    def _forget(self, service: ApiService) -> None:
        del self._services[service.name]
        where = service.group_version
        remote = self._by_version.get((where.group, where.version))
        if remote is not None:
            self._end(remote)
        self._parts.table.remove(where)
        self._parts.statuses.forget(service.name)
        self._local.note_removed(service)

    def _named_changed(self, found: CachedObject) -> None:
        if self._by_version:
            self._service_changed(found.namespace, found.name)

    def _slice_changed(self, found: CachedObject) -> None:
        if self._by_version:
            self._service_changed(found.namespace, found.labels.get(SERVICE_LABEL, ""))

    def _service_changed(self, namespace: str, name: str) -> None:
        for remote in self._by_version.values():
            assert remote.service.backend is not None, "a remote has one"
            reference = remote.service.backend.service
            if (reference.namespace, reference.name) == (namespace, name):
                self._behind.forget(reference)
                remote.note_change()

    def _all_changed(self) -> None:
        for remote in self._by_version.values():
            if remote.service.backend is not None:
                self._behind.forget(remote.service.backend.service)
            remote.note_change()

    # Tasks

    def _start(self, remote: Remote) -> None:
        backoff = Backoff(self._parts.clock)
        name = f"API service {remote.service.name}"
        task = self._start_task(
            supervise(name, remote.run, clock=self._parts.clock, backoff=backoff, died=_died)
        )
        if task is not None:
            self._running[remote] = task
            task.add_done_callback(partial(self._ended, remote))

    def _ended(self, remote: Remote, _task: asyncio.Task[None]) -> None:
        self._running.pop(remote, None)

    def _note_local(self, service: ApiService) -> None:
        """One that another server served before has that server's condition."""
        if service.backend is None and not service.is_available:
            self._start_task(self._write_local(service.name))

    async def _write_local(self, name: str) -> None:
        try:
            await self._parts.statuses.write(name, LOCAL)
        except (ApiError, StorageError) as why:
            _log.warning("condition of an API service cannot be written", name=name, error=str(why))

    def _end(self, remote: Remote) -> None:
        where = remote.service.group_version
        del self._by_version[where.group, where.version]
        if remote.service.backend is not None:
            self._behind.forget(remote.service.backend.service)
        if (task := self._running.pop(remote, None)) is not None:
            task.cancel()
        self._start_task(remote.backend.close())

    def _start_task(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None] | None:
        """None before ``run`` and after it: what is loaded before is started there."""
        if self._tasks is None:
            work.close()
            return None
        return self._tasks.create_task(work)

    def __repr__(self) -> str:
        return f"<Remotes: {len(self._by_version)}>"


def _died(name: str, why: BaseException | None, delay_s: float) -> None:
    _log.error("a part died and is started again", part=name, delay_s=delay_s, exc_info=why)
