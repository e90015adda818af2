"""Unavailable API services in numbers, under the names kube-apiserver gives them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from proreus.server.aggregation.availability import Availability
from proreus.server.prometheus import (
    Collector,
    CollectorRegistry,
    CounterMetricFamily,
    GaugeMetricFamily,
    Metric,
)

_NAME = "aggregator_unavailable_apiservice"


class AggregationMetrics(Collector):
    """The library would take a gauge and a counter that differ by ``_total`` for one metric."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._unavailable: dict[str, bool] = {}
        self._changes: Counter[tuple[str, str]] = Counter()
        registry.register(self)

    def observe(self, name: str, found: Availability, *, was_available: bool) -> None:
        self._unavailable[name] = not found.is_available
        if was_available and not found.is_available:
            self._changes[name, found.reason] += 1

    def forget(self, name: str) -> None:
        self._unavailable.pop(name, None)

    def collect(self) -> Iterator[Metric]:
        now = GaugeMetricFamily(_NAME, "Whether an API service is unavailable.", labels=["name"])
        for name, is_unavailable in self._unavailable.items():
            now.add_metric([name], float(is_unavailable))
        yield now
        became = CounterMetricFamily(
            _NAME, "How often an API service became unavailable.", labels=["name", "reason"]
        )
        for (name, reason), count in self._changes.items():
            became.add_metric([name, reason], count)
        yield became
