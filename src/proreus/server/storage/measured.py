"""A storage around another one: its requests are timed and counted.

Kubernetes knows one storage, so its metrics are called etcd's; here they are those of whatever
storage there is. What is answered without a request (``is_newest``, the newest revision) is passed
on as it is, since every read asks for it. Cost: about a microsecond per request.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from types import TracebackType

from proreus.api.group_version import GroupResource
from proreus.server.histogram import REQUEST_BUCKETS_S, BucketCounts
from proreus.server.prometheus import (
    Collector,
    CollectorRegistry,
    CounterMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from proreus.server.storage import keyspace
from proreus.server.storage.health import Health
from proreus.server.storage.interface import (
    ChangeBatch,
    OldValue,
    Page,
    PastValue,
    Storage,
    StoredValue,
    Ttl,
    Unavailable,
)

_LABELS = ("operation", "group", "resource")
_LIST = "list"

LabelValues = tuple[str, str, str]


class StorageRequests(Collector):
    """``resources``: whose objects are where, by their place below the root of all keys."""

    def __init__(
        self,
        registry: CollectorRegistry,
        resources: Mapping[str, GroupResource],
        now: Callable[[], float],
    ) -> None:
        self._resources = resources
        self._now = now
        self._taken: dict[LabelValues, BucketCounts] = {}
        self._failed: dict[LabelValues, int] = {}
        self._under_way = 0
        registry.register(self)

    def is_busy(self) -> bool:
        """Whether one is under way: in a thread of the storage, or elsewhere."""
        return self._under_way > 0

    def request(self, operation: str, key: str) -> _Request:
        self._under_way += 1
        return _Request(self, operation, self._resource(key), self._now())

    def ended(self, request: _Request, *, is_failed: bool) -> None:
        self._under_way -= 1
        resource = request.resource
        labels = (request.operation, resource.group, resource.resource)
        if is_failed:
            self._failed[labels] = self._failed.get(labels, 0) + 1
        taken = self._taken.get(labels)
        if taken is None:
            taken = self._taken[labels] = BucketCounts(REQUEST_BUCKETS_S)
        taken.add(self._now() - request.begun)

    def _resource(self, key: str) -> GroupResource:
        first, _, rest = key.removeprefix(keyspace.ROOT).partition("/")
        found = self._resources.get(first)
        if found is not None:
            return found
        second = rest.partition("/")[0]
        found = self._resources.get(f"{first}/{second}")
        if found is not None:
            return found
        # Custom resources are below their group, which has a dot in its name.
        return GroupResource(first, second) if "." in first else GroupResource("", first)

    def collect(self) -> Iterable[Metric]:
        durations = HistogramMetricFamily(
            "etcd_request_duration_seconds",
            "Etcd request latency in seconds for each operation and object type.",
            labels=_LABELS,
        )
        requests = CounterMetricFamily(
            "etcd_requests",
            "Etcd request counts for each operation and object type.",
            labels=_LABELS,
        )
        errors = CounterMetricFamily(
            "etcd_request_errors",
            "Etcd failed request counts for each operation and object type.",
            labels=_LABELS,
        )
        lists = CounterMetricFamily(
            "apiserver_storage_list",
            "Number of LIST requests served from storage",
            labels=_LABELS[1:],
        )
        for labels, taken in self._taken.items():
            durations.add_metric(labels, taken.buckets(), taken.total)
            requests.add_metric(labels, len(taken))
            if labels[0] == _LIST:
                lists.add_metric(labels[1:], len(taken))
        for labels, count in self._failed.items():
            errors.add_metric(labels, count)
        return durations, requests, errors, lists


class _Request:
    """Timed from its making to the end of the block; a generator's context manager would cost
    more than all of the rest."""

    __slots__ = ("_requests", "begun", "operation", "resource")

    def __init__(
        self, requests: StorageRequests, operation: str, resource: GroupResource, begun: float
    ) -> None:
        self._requests = requests
        self.operation = operation
        self.resource = resource
        self.begun = begun

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        self._requests.ended(self, is_failed=isinstance(error, Unavailable))


class MeasuredStorage:
    """See the module."""

    def __init__(self, inner: Storage, requests: StorageRequests) -> None:
        self._inner = inner
        self._request = requests.request
        self.is_newest = inner.is_newest
        self.current_revision = inner.current_revision
        self.request_progress = inner.request_progress
        self.compact = inner.compact
        self.committed_at = inner.committed_at
        self.run = inner.run

    async def create(self, key: str, value: bytes, *, ttl_s: Ttl = None) -> int:
        with self._request("create", key):
            return await self._inner.create(key, value, ttl_s=ttl_s)

    async def update(
        self, key: str, value: bytes, *, expected: int, ttl_s: Ttl = None, replaced: OldValue = None
    ) -> int:
        with self._request("update", key):
            return await self._inner.update(
                key, value, expected=expected, ttl_s=ttl_s, replaced=replaced
            )

    async def delete(self, key: str, *, expected: int, replaced: OldValue = None) -> int:
        with self._request("delete", key):
            return await self._inner.delete(key, expected=expected, replaced=replaced)

    async def get(self, key: str, *, at_least: int = 0) -> StoredValue | None:
        with self._request("get", key):
            return await self._inner.get(key, at_least=at_least)

    async def list(
        self, prefix: str, *, start: str = "", limit: int = 0, revision: int = 0
    ) -> Page:
        with self._request(_LIST, prefix):
            return await self._inner.list(prefix, start=start, limit=limit, revision=revision)

    async def count(self, prefix: str) -> int:
        with self._request("count", prefix):
            return await self._inner.count(prefix)

    async def versions(self, key: str, *, limit: int) -> tuple[PastValue, ...]:
        with self._request("versions", key):
            return await self._inner.versions(key, limit=limit)

    def watch(
        self, prefix: str, *, after: int, with_old: bool = True
    ) -> AbstractAsyncContextManager[AsyncIterator[ChangeBatch]]:
        return self._inner.watch(prefix, after=after, with_old=with_old)

    @property
    def compacted_revision(self) -> int:
        return self._inner.compacted_revision

    @property
    def health(self) -> Health:
        return self._inner.health

    def __repr__(self) -> str:
        return repr(self._inner)
