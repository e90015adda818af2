"""The caches' numbers under the names kube-apiserver gives them (server.md §5.7).

Counters are plain integers on the parts that count, read by a scrape: an event or a
delivery pays for no metric. Only durations are observed as they happen.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence, Sized
from dataclasses import field
from itertools import accumulate
from typing import Protocol

from proreus.api.group_version import GroupResource
from proreus.lazy_dataclass import dataclass
from proreus.server.prometheus import (
    Collector,
    CollectorRegistry,
    Counter,
    CounterMetricFamily,
    GaugeMetricFamily,
    Histogram,
    HistogramMetricFamily,
    Metric,
)

_LABELS = ("group", "resource")
_SIZES_B = tuple(1024 << power for power in range(8))


@dataclass(slots=True)
class Counts:
    """What one cache has done since it was added."""

    resource: GroupResource
    received: int = 0
    initializations: int = 0
    lists: int = 0
    fetched: int = 0
    returned: int = 0


@dataclass(slots=True)
class WrittenEvents:
    """Events given to watchers, by size. Counted once for all who get the same."""

    counts: list[int] = field(default_factory=lambda: [0] * (len(_SIZES_B) + 1))
    total_bytes: int = 0

    @property
    def total(self) -> int:
        return sum(self.counts)

    def add(self, frames: Sequence[Sized], readers: int = 1) -> None:
        for frame in frames:
            self.counts[bisect_left(_SIZES_B, len(frame))] += readers
            self.total_bytes += len(frame) * readers


@dataclass(frozen=True, slots=True)
class CacheReading:
    """One cache as it is at a scrape."""

    counts: Counts
    unreadable: int
    dispatched: int
    initial_events: int
    written: WrittenEvents
    terminated: int
    capacity: int
    revision: int
    objects: int
    watchers: int


class ReadingSource(Protocol):
    """Anything that can be read at a scrape."""

    def reading(self) -> CacheReading: ...


_COUNTERS = {
    "apiserver_watch_cache_events_received": "Changes taken from storage.",
    "apiserver_storage_events_received": "Changes that storage reported.",
    "apiserver_watch_cache_events_dispatched": "Changes offered to watchers.",
    "apiserver_watch_cache_initializations": "Times the cache was filled from a list.",
    "apiserver_watch_events": "Events written to watchers.",
    "apiserver_init_events": "Initial events written at the start of watches.",
    "apiserver_terminated_watchers": "Watches ended because their reader was too slow.",
    "apiserver_cache_list": "Lists answered from the cache.",
    "apiserver_cache_list_fetched_objects": "Objects looked at by those lists.",
    "apiserver_cache_list_returned_objects": "Objects returned by those lists.",
    "apiserver_storage_decode_errors": "Stored values that could not be read.",
}
# Which index was read, where Kubernetes says so: there is none.
_INDEXED = frozenset({"apiserver_cache_list", "apiserver_cache_list_fetched_objects"})
_GAUGES = {
    "watch_cache_capacity": "Changes the history can hold now.",
    "apiserver_watch_cache_resource_version": "Revision the cache has reached.",
    "apiserver_resource_objects": "Objects in the cache.",
    "apiserver_watch_cache_watchers": "Watches that are open.",
}
# Of a metric that Kubernetes promised to keep.
_OBJECTS_TEXT = (
    "[STABLE] [DEPRECATED, consider using apiserver_resource_objects instead] Number of stored "
    "objects at the time of last check split by kind. In case of a fetching error, the value will "
    "be -1."
)


class WatchCacheMetrics(Collector):
    """One per server, in that server's registry; None keeps the numbers to itself."""

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        own = registry if registry is not None else CollectorRegistry()
        self._sources: list[ReadingSource] = []
        self.read_wait_s = Histogram(
            "apiserver_watch_cache_read_wait_seconds",
            "Time reads waited for the cache to be fresh enough.",
            _LABELS,
            registry=own,
            buckets=(0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0),
        )
        self.consistent_reads = Counter(
            "apiserver_watch_cache_consistent_read",
            "Consistent reads, by whether the cache answered and whether storage had to.",
            (*_LABELS, "success", "fallback"),
            registry=own,
        )
        own.register(self)

    def add(self, source: ReadingSource) -> None:
        self._sources.append(source)

    def remove(self, source: ReadingSource) -> None:
        self._sources.remove(source)

    def collect(self) -> Iterable[Metric]:
        readings = [source.reading() for source in self._sources]
        yield from _counters(readings)
        yield from _gauges(readings)
        yield _stored(readings)
        yield _sizes(readings)


def _counters(readings: list[CacheReading]) -> Iterator[Metric]:
    families = {name: CounterMetricFamily(name, text, labels=_labels(name))
                for name, text in _COUNTERS.items()}  # fmt: skip
    for reading in readings:
        counts = reading.counts
        values = (
            counts.received, counts.received, reading.dispatched, counts.initializations,
            reading.written.total, reading.initial_events, reading.terminated, counts.lists,
            counts.fetched, counts.returned, reading.unreadable,
        )  # fmt: skip
        labels = (counts.resource.group, counts.resource.resource)
        for (name, family), value in zip(families.items(), values, strict=True):
            family.add_metric((*labels, "") if name in _INDEXED else labels, value)
    yield from families.values()


def _labels(name: str) -> tuple[str, ...]:
    return (*_LABELS, "index") if name in _INDEXED else _LABELS


def _gauges(readings: list[CacheReading]) -> Iterator[Metric]:
    families = {name: GaugeMetricFamily(name, text, labels=_LABELS)
                for name, text in _GAUGES.items()}  # fmt: skip
    for reading in readings:
        values = (reading.capacity, reading.revision, reading.objects, reading.watchers)
        labels = (reading.counts.resource.group, reading.counts.resource.resource)
        for family, value in zip(families.values(), values, strict=True):
            family.add_metric(labels, value)
    yield from families.values()


def _stored(readings: list[CacheReading]) -> Metric:
    """The older name of the objects' number, where a resource and its group are one label."""
    family = GaugeMetricFamily("apiserver_storage_objects", _OBJECTS_TEXT, labels=("resource",))
    for reading in readings:
        family.add_metric((str(reading.counts.resource),), reading.objects)
    return family


def _sizes(readings: list[CacheReading]) -> Metric:
    family = HistogramMetricFamily(
        "apiserver_watch_events_sizes", "Sizes of events written to watchers.", labels=_LABELS
    )
    edges = (*map(str, _SIZES_B), "+Inf")
    for reading in readings:
        written = reading.written
        if written.total:
            buckets = list(zip(edges, map(float, accumulate(written.counts)), strict=True))
            labels = (reading.counts.resource.group, reading.counts.resource.resource)
            family.add_metric(labels, buckets, written.total_bytes)
    return family
