"""Fairness in numbers, under the names kube-apiserver gives them; plain numbers until scraped."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

from proreus.server.fairness.fairness import Fairness
from proreus.server.fairness.request_flow import SchemaCounts, ServedLevel
from proreus.server.histogram import BucketCounts
from proreus.server.prometheus import (
    Collector,
    CollectorRegistry,
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)

_PREFIX = "apiserver_flowcontrol"
_BOTH = ("priority_level", "flow_schema")
_LEVEL = ("priority_level",)
T = TypeVar("T")

# Name, help text and where the number is.
Gauges = tuple[tuple[str, str, Callable[[T], float]], ...]
Histograms = tuple[tuple[str, str, Callable[[T], BucketCounts]], ...]
Labelled = list[tuple[tuple[str, ...], T]]

_OF_SCHEMAS: Gauges[SchemaCounts] = (
    ("current_executing_requests", "Requests at work.", lambda counts: counts.executing),
    ("current_inqueue_requests", "Requests in queues.", lambda counts: counts.waiting),
)
_DURATIONS: Histograms[SchemaCounts] = (
    ("request_wait_duration_seconds", "Time in queues.", lambda counts: counts.wait_s),
    ("request_execution_seconds", "Time at work.", lambda counts: counts.execution_s),
)
_OF_LEVELS: Gauges[ServedLevel] = (
    ("current_executing_seats", "Seats in use.", lambda level: level.seats.in_use),
    ("nominal_limit_seats", "Seats by shares.", lambda level: level.bounds.nominal),
    ("lower_limit_seats", "Seats after lending.", lambda level: level.bounds.least),
    ("upper_limit_seats", "Seats after borrowing.", lambda level: level.bounds.most),
    ("current_limit_seats", "Seats now.", lambda level: level.seats.limit),
)
_PARTS: Histograms[ServedLevel] = (
    ("demand_seats", "Part of its seats that a level wanted.", lambda level: level.demand),
    ("priority_level_seat_utilization", "Part in use.", lambda level: level.utilization),
)


class FairnessMetrics(Collector):
    def __init__(self, registry: CollectorRegistry, fairness: Fairness) -> None:
        self._fairness = fairness
        registry.register(self)

    def collect(self) -> Iterator[Metric]:
        schemas: Labelled[SchemaCounts] = [
            ((level, schema), counts) for (schema, level), counts in self._fairness.counts.items()
        ]
        levels: Labelled[ServedLevel] = [((level.config.name,), level) for level in self._fairness]
        yield from _requests(schemas)
        yield from _gauges(_OF_SCHEMAS, _BOTH, schemas)
        yield from _histograms(_DURATIONS, _BOTH, schemas)
        yield from _gauges(_OF_LEVELS, _LEVEL, levels)
        yield from _histograms(_PARTS, _LEVEL, levels)


def _requests(schemas: Labelled[SchemaCounts]) -> Iterator[Metric]:
    dispatched = CounterMetricFamily(
        f"{_PREFIX}_dispatched_requests", "Requests let in.", labels=_BOTH
    )
    rejected = CounterMetricFamily(
        f"{_PREFIX}_rejected_requests", "Requests turned away.", labels=(*_BOTH, "reason")
    )
    for labels, counts in schemas:
        dispatched.add_metric(labels, counts.dispatched)
        for reason, count in (("queue-full", counts.rejected), ("time-out", counts.timed_out)):
            if count:
                rejected.add_metric((*labels, reason), count)
    yield from (dispatched, rejected)


def _gauges(gauges: Gauges[T], labels: tuple[str, ...], labelled: Labelled[T]) -> Iterator[Metric]:
    for name, text, number in gauges:
        family = GaugeMetricFamily(f"{_PREFIX}_{name}", text, labels=labels)
        for values, one in labelled:
            family.add_metric(values, number(one))
        yield family


def _histograms(
    histograms: Histograms[T], labels: tuple[str, ...], labelled: Labelled[T]
) -> Iterator[Metric]:
    for name, text, counted in histograms:
        family = HistogramMetricFamily(f"{_PREFIX}_{name}", text, labels=labels)
        for values, one in labelled:
            counts = counted(one)
            family.add_metric(values, counts.buckets(), counts.total)
        yield family
