"""Fairness in numbers, under the names kube-apiserver gives them; plain numbers until scraped."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
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
Parts = Mapping[str, Callable[[SchemaCounts], BucketCounts]]  # by the value of a label
Labelled = list[tuple[tuple[str, ...], T]]


def _waiting_seats(counts: SchemaCounts) -> float:
    return counts.waiting_seats


def _nominal(level: ServedLevel) -> float:
    return level.bounds.nominal


_OF_SCHEMAS: Gauges[SchemaCounts] = (
    ("current_executing_seats", "Seats in use.", lambda counts: counts.seats),
    ("request_concurrency_in_use", "Seats in use, by an older name.", lambda counts: counts.seats),
    ("current_inqueue_seats", "Seats that requests in queues want.", _waiting_seats),
    ("current_executing_requests", "Requests at work.", lambda counts: counts.executing),
    ("current_inqueue_requests", "Requests in queues.", lambda counts: counts.waiting),
)
_DURATIONS: tuple[tuple[str, str, str, Parts], ...] = (
    (
        "request_wait_duration_seconds",
        "Time in queues.",
        "execute",
        {"true": lambda counts: counts.wait_s, "false": lambda counts: counts.vain_wait_s},
    ),
    (
        "request_execution_seconds",
        "Time at work.",
        "type",
        {"regular": lambda counts: counts.execution_s, "watch": lambda counts: counts.watch_s},
    ),
)
_OF_LEVELS: Gauges[ServedLevel] = (
    ("nominal_limit_seats", "Seats by shares.", lambda level: level.bounds.nominal),
    ("request_concurrency_limit", "The same, by an older name.", _nominal),
    ("lower_limit_seats", "Seats after lending.", lambda level: level.bounds.least),
    ("upper_limit_seats", "Seats after borrowing.", lambda level: level.bounds.most),
    ("current_limit_seats", "Seats now.", lambda level: level.seats.limit),
    ("demand_seats_high_watermark", "Most seats wanted.", lambda level: level.wanted.highest),
    ("demand_seats_average", "Seats wanted in the mean.", lambda level: level.wanted.mean),
    ("demand_seats_stdev", "Deviation from it.", lambda level: level.wanted.deviation),
    ("demand_seats_smoothed", "Seats wanted, smoothed.", lambda level: level.wanted.smooth),
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
        yield from _durations(schemas)
        yield from _gauges(_OF_LEVELS, _LEVEL, levels)
        yield from _parts(levels)


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


def _durations(schemas: Labelled[SchemaCounts]) -> Iterator[Metric]:
    for name, text, label, parts in _DURATIONS:
        family = HistogramMetricFamily(f"{_PREFIX}_{name}", text, labels=(*_BOTH, label))
        for labels, one in schemas:
            for value, counted in parts.items():
                if len(counts := counted(one)):
                    family.add_metric((*labels, value), counts.buckets(), counts.total)
        yield family


def _parts(levels: Labelled[ServedLevel]) -> Iterator[Metric]:
    text = "How many times its nominal seats a level wanted."
    demand = HistogramMetricFamily(f"{_PREFIX}_demand_seats", text, labels=_LEVEL)
    in_use = HistogramMetricFamily(
        f"{_PREFIX}_priority_level_seat_utilization",
        "Part of its seats that a level used.",
        labels=(*_LEVEL, "phase"),
    )
    for labels, level in levels:
        demand.add_metric(labels, level.demand.buckets(), level.demand.total)
        used = level.utilization
        in_use.add_metric((*labels, "executing"), used.buckets(), used.total)
    yield from (demand, in_use)
