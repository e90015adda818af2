"""Requests counted under the names kube-apiserver gives them (spec/server §5.7).

Plain numbers in a dictionary, turned into metrics when somebody scrapes: a request pays less than
a microsecond.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from prometheus_client import CollectorRegistry
from prometheus_client.metrics_core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from proreus.api.wire.path import ApiPath
from proreus.server.http.exchange import Exchange

_BUCKETS_S = (0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0)
_LABELS = ("verb", "group", "version", "resource", "subresource", "scope")
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
# Unknown paths must not grow the table without end, nor keep what is served out of it.
_KEYS_MAX = 5000
_REFUSED_KEYS_MAX = 1000
_LABEL_CHARS_MAX = 100
_REFUSED = frozenset({400, 401, 403, 404, 405})

Labels = tuple[str, ...]


@dataclass(slots=True)
class _Durations:
    total_s: float = 0.0
    counts: list[int] = field(default_factory=lambda: [0] * (len(_BUCKETS_S) + 1))


class RequestMetrics(Collector):
    def __init__(self, registry: CollectorRegistry) -> None:
        self._codes: dict[tuple[Labels, int], int] = {}
        self._durations: dict[Labels, _Durations] = {}
        self._long_running: dict[Labels, int] = {}
        self.in_flight: Mapping[str, Callable[[], int]] = {}  # by kind, asked when scraped
        self.rejected = 0
        registry.register(self)

    def observe(self, exchange: Exchange, code: int, seconds: float) -> None:
        labels = _labels(exchange)
        key = (labels, code)
        room = _REFUSED_KEYS_MAX if code in _REFUSED else _KEYS_MAX
        if key not in self._codes and len(self._codes) >= room:
            labels = ("other", "", "", "", "", "")
            key = (labels, code)
        self._codes[key] = self._codes.get(key, 0) + 1
        if exchange.is_long_running:
            return
        durations = self._durations.get(labels)
        if durations is None:
            durations = self._durations[labels] = _Durations()
        durations.total_s += seconds
        durations.counts[bisect_left(_BUCKETS_S, seconds)] += 1

    def long_running(self, exchange: Exchange, step: int) -> None:
        labels = _labels(exchange)
        count = self._long_running.get(labels, 0) + step
        if count:
            self._long_running[labels] = count
        else:
            del self._long_running[labels]

    def collect(self) -> Iterator[Metric]:
        yield self._totals()
        yield self._histogram()
        running = GaugeMetricFamily(
            "apiserver_longrunning_requests", "Watches and other open streams.", labels=_LABELS
        )
        for labels, count in self._long_running.items():
            running.add_metric(labels, count)
        yield running
        current = GaugeMetricFamily(
            "apiserver_current_inflight_requests", "Requests at work.", labels=("request_kind",)
        )
        for kind, count_now in self.in_flight.items():
            current.add_metric((kind,), count_now())
        yield current
        yield CounterMetricFamily(
            "apiserver_dropped_requests", "Requests turned away with 429.", value=self.rejected
        )

    def _totals(self) -> Metric:
        family = CounterMetricFamily(
            "apiserver_request", "Requests answered.", labels=(*_LABELS, "code")
        )
        for (labels, code), count in self._codes.items():
            family.add_metric((*labels, str(code)), count)
        return family

    def _histogram(self) -> Metric:
        family = HistogramMetricFamily(
            "apiserver_request_duration_seconds", "How long requests took.", labels=_LABELS
        )
        for labels, found in self._durations.items():
            buckets, seen = [], 0
            for edge, count in zip((*_BUCKETS_S, float("inf")), found.counts, strict=True):
                seen += count
                buckets.append((str(edge) if edge != float("inf") else "+Inf", float(seen)))
            family.add_metric(labels, buckets, found.total_s)
        return family


def _labels(exchange: Exchange) -> Labels:
    target = exchange.target
    method = exchange.method if exchange.method in _METHODS else "other"
    if not isinstance(target, ApiPath):
        return (method, "", "", "", "", "")
    verb = {"list": "LIST", "watch": "WATCH"}.get(exchange.verb, method)
    scope = "resource" if target.name else "namespace" if target.namespace else "cluster"
    labels = (verb, target.group, target.version, target.resource, target.subresource, scope)
    if max(map(len, labels)) > _LABEL_CHARS_MAX:
        return (verb, "", "", "other", "", scope)
    return labels
