"""A storage around another one: its requests are timed and counted.

Kubernetes knows one storage, so its metrics are called etcd's; here they are those of whatever
storage there is. What is answered without a request (``is_newest``, the newest revision) is passed
on as it is, since every read asks for it. Cost: about a microsecond per request.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, TypeVar

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
T = TypeVar("T")
Request = Coroutine[Any, Any, T]


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

    async def timed(self, operation: str, key: str, request: Request[T]) -> T:
        self._under_way += 1
        begun = self._now()
        try:
            return await request
        except Unavailable:
            labels = self._labels(operation, key)
            self._failed[labels] = self._failed.get(labels, 0) + 1
            raise
        finally:
            self._under_way -= 1
            labels = self._labels(operation, key)
            taken = self._taken.get(labels)
            if taken is None:
                taken = self._taken[labels] = BucketCounts(REQUEST_BUCKETS_S)
            taken.add(self._now() - begun)

    def _labels(self, operation: str, key: str) -> LabelValues:
        resource = self._resource(key)
        return operation, resource.group, resource.resource

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


class MeasuredStorage:
    """See the module."""

    def __init__(self, inner: Storage, requests: StorageRequests) -> None:
        self._inner = inner
        self._timed = requests.timed
        self.is_newest = inner.is_newest
        self.current_revision = inner.current_revision
        self.request_progress = inner.request_progress
        self.compact = inner.compact
        self.committed_at = inner.committed_at
        self.run = inner.run

    def create(self, key: str, value: bytes, *, ttl_s: Ttl = None) -> Request[int]:
        return self._timed("create", key, self._inner.create(key, value, ttl_s=ttl_s))

    def update(
        self, key: str, value: bytes, *, expected: int, ttl_s: Ttl = None, replaced: OldValue = None
    ) -> Request[int]:
        update = self._inner.update(key, value, expected=expected, ttl_s=ttl_s, replaced=replaced)
        return self._timed("update", key, update)

    def delete(self, key: str, *, expected: int, replaced: OldValue = None) -> Request[int]:
        delete = self._inner.delete(key, expected=expected, replaced=replaced)
        return self._timed("delete", key, delete)

    def get(self, key: str, *, at_least: int = 0) -> Request[StoredValue | None]:
        return self._timed("get", key, self._inner.get(key, at_least=at_least))

    def list(
        self, prefix: str, *, start: str = "", limit: int = 0, revision: int = 0
    ) -> Request[Page]:
        page = self._inner.list(prefix, start=start, limit=limit, revision=revision)
        return self._timed(_LIST, prefix, page)

    def count(self, prefix: str) -> Request[int]:
        return self._timed("count", prefix, self._inner.count(prefix))

    def versions(self, key: str, *, limit: int) -> Request[tuple[PastValue, ...]]:
        return self._timed("versions", key, self._inner.versions(key, limit=limit))

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
