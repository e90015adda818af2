"""Metrics in Prometheus' model: families of samples, what collects them, counters and histograms.

With the names and meanings of ``prometheus_client``, which loads HTTP servers and clients with all
they need, sixty modules: a twentieth of a server's start, and 3 MB. ``http/metrics_text`` writes
them. Most parts of the server count in plain numbers and make families of them when they are
scraped; ``Counter`` and ``Histogram`` are for those that need no such care.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate
from threading import Lock
from typing import NamedTuple, Protocol

from proreus.api import go_text


@lru_cache(maxsize=512)
def edge(bound: float) -> str:
    """A bucket's bound as Go writes it, because rules name it."""
    return go_text.number(bound)


class Sample(NamedTuple):
    name: str
    labels: dict[str, str]
    value: float


class Metric:
    """A family: samples with one name, which endings extend. ``type`` is Prometheus' word."""

    type = "unknown"

    def __init__(self, name: str, documentation: str, labels: Sequence[str] = ()) -> None:
        self.name = name
        self.documentation = documentation
        self.samples: list[Sample] = []
        self._label_names = tuple(labels)

    def add_sample(self, name: str, labels: Mapping[str, str], value: float) -> None:
        self.samples.append(Sample(name, dict(labels), value))

    def _named(self, labels: Sequence[str]) -> dict[str, str]:
        return dict(zip(self._label_names, labels, strict=True))

    def __repr__(self) -> str:
        return f"<{self.type} {self.name} with {len(self.samples)} samples>"


class UntypedMetricFamily(Metric):
    def add_metric(self, labels: Sequence[str], value: float) -> None:
        self.add_sample(self.name, self._named(labels), value)


class GaugeMetricFamily(Metric):
    """``value``: of a family without labels."""

    type = "gauge"

    def __init__(
        self,
        name: str,
        documentation: str,
        value: float | None = None,
        labels: Sequence[str] = (),
    ) -> None:
        super().__init__(name, documentation, labels)
        if value is not None:
            self.add_metric((), value)

    def add_metric(self, labels: Sequence[str], value: float) -> None:
        self.add_sample(self.name, self._named(labels), value)


class CounterMetricFamily(Metric):
    """Its samples' names end in ``_total``, the family's does not. ``value``: as above."""

    type = "counter"

    def __init__(
        self,
        name: str,
        documentation: str,
        value: float | None = None,
        labels: Sequence[str] = (),
    ) -> None:
        super().__init__(name.removesuffix("_total"), documentation, labels)
        if value is not None:
            self.add_metric((), value)

    def add_metric(self, labels: Sequence[str], value: float) -> None:
        self.add_sample(f"{self.name}_total", self._named(labels), value)


class HistogramMetricFamily(Metric):
    type = "histogram"

    def add_metric(
        self, labels: Sequence[str], buckets: Sequence[tuple[str, float]], sum_value: float
    ) -> None:
        """``buckets``: upper bounds, the last of them ``+Inf``, and how many were not above."""
        named = self._named(labels)
        for bound, count in buckets:
            self.add_sample(f"{self.name}_bucket", {**named, "le": bound}, count)
        self.add_sample(f"{self.name}_count", named, buckets[-1][1])
        self.add_sample(f"{self.name}_sum", named, sum_value)


class Collector(Protocol):
    """Something whose families are made when they are scraped."""

    def collect(self) -> Iterable[Metric]: ...


class CollectorRegistry:
    """All that one server counts."""

    def __init__(self) -> None:
        self._collectors: list[Collector] = []

    def register(self, collector: Collector) -> None:
        self._collectors.append(collector)

    def collect(self) -> Iterator[Metric]:
        for collector in tuple(self._collectors):
            yield from collector.collect()

    def __repr__(self) -> str:
        return f"<CollectorRegistry of {len(self._collectors)} collectors>"


class Count:
    """The number of one combination of labels. Threads count, too."""

    __slots__ = ("_lock", "value")

    def __init__(self) -> None:
        self._lock = Lock()
        self.value = 0.0

    def inc(self, amount: float = 1.0) -> None:
        with self._lock:
            self.value += amount


class Counter:
    """Counts up, by labels."""

    def __init__(
        self, name: str, documentation: str, labels: Sequence[str], *, registry: CollectorRegistry
    ) -> None:
        self._name, self._documentation, self._labels = name, documentation, labels
        self._counted: dict[tuple[str, ...], Count] = {}
        registry.register(self)

    def labels(self, *values: str) -> Count:
        return self._counted.get(values) or self._counted.setdefault(values, Count())

    def collect(self) -> Iterator[Metric]:
        family = CounterMetricFamily(self._name, self._documentation, labels=self._labels)
        for values, counted in tuple(self._counted.items()):
            family.add_metric(values, counted.value)
        yield family


class _Observed:
    """The observations of one combination of labels."""

    __slots__ = ("_bounds", "_lock", "counts", "total")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self._bounds = bounds
        self._lock = Lock()
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def observe(self, value: float) -> None:
        with self._lock:
            self.counts[bisect_left(self._bounds, value)] += 1
            self.total += value


class Histogram:
    """Counts observations in buckets, by labels. ``buckets``: upper bounds, in order."""

    def __init__(
        self,
        name: str,
        documentation: str,
        labels: Sequence[str],
        *,
        buckets: Sequence[float],
        registry: CollectorRegistry,
    ) -> None:
        self._name, self._documentation, self._labels = name, documentation, labels
        self._bounds = tuple(float(bound) for bound in buckets)
        self._observed: dict[tuple[str, ...], _Observed] = {}
        registry.register(self)

    def labels(self, *values: str) -> _Observed:
        found = self._observed.get(values)
        return found or self._observed.setdefault(values, _Observed(self._bounds))

    def collect(self) -> Iterator[Metric]:
        family = HistogramMetricFamily(self._name, self._documentation, self._labels)
        bounds = [*map(edge, self._bounds), "+Inf"]
        for values, observed in tuple(self._observed.items()):
            counts = map(float, accumulate(observed.counts))
            family.add_metric(values, list(zip(bounds, counts, strict=True)), observed.total)
        yield family
