"""Requests counted under the names kube-apiserver gives them (spec/server §5.7).

Plain numbers in a dictionary, turned into metrics when somebody scrapes: a request pays less than
a microsecond.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import accumulate

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

_BUCKETS_S = (0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 5.0,
              6.0, 8.0, 10.0, 15.0, 20.0, 30.0, 45.0, 60.0)  # fmt: skip
_LABELS = ("verb", "group", "version", "resource", "subresource", "scope", "component")
_REQUEST_LABELS = (*_LABELS, "dry_run")
_COMPONENT = "apiserver"
_CONNECTING = frozenset({"attach", "exec", "portforward", "proxy"})
_APPLY = "application/apply-patch+yaml"
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
# Unknown paths must not grow the table without end, nor keep what is served out of it.
_KEYS_MAX = 5000
_REFUSED_KEYS_MAX = 500
_LABEL_CHARS_MAX = 100
_REFUSED = frozenset({400, 401, 403, 404, 405})

Labels = tuple[str, ...]


@dataclass(slots=True)
class _Series:
    """The answers of one code to one kind of request."""

    labels: Labels
    code: int
    count: int = 0
    total_s: float = 0.0
    counts: list[int] = field(default_factory=lambda: [0] * (len(_BUCKETS_S) + 1))


class RequestMetrics(Collector):
    def __init__(self, registry: CollectorRegistry) -> None:
        self._series: dict[tuple[str, ...], dict[int, _Series]] = {}
        self._kept = 0
        self._others: dict[int, _Series] = {}
        self._long_running: dict[Labels, int] = {}
        self.in_flight: Mapping[str, Callable[[], int]] = {}  # by kind, asked when scraped
        self.rejected = 0
        registry.register(self)

    def observe(self, exchange: Exchange, code: int, seconds: float) -> None:
        target = exchange.target
        key: tuple[str, ...]
        if isinstance(target, ApiPath):
            group, version, resource, namespace, name, subresource, *_ = target
            # Whether there is a name and a namespace makes the scope; which ones they are, nothing.
            key = (exchange.method, exchange.verb, group, version, resource, subresource,
                   "n" if name else "s" if namespace else "", _kind_of_write(exchange))  # fmt: skip
        else:
            key = (exchange.method,)
        by_code = self._series.get(key)
        found = by_code.get(code) if by_code is not None else None
        if found is None:
            found = self._begin(key, exchange, code)
        found.count += 1
        if not exchange.is_long_running:
            found.total_s += seconds
            found.counts[bisect_left(_BUCKETS_S, seconds)] += 1

    def _begin(self, key: tuple[str, ...], exchange: Exchange, code: int) -> _Series:
        room = _REFUSED_KEYS_MAX if code in _REFUSED else _KEYS_MAX
        if self._kept >= room or max(map(len, key)) > _LABEL_CHARS_MAX:
            other = self._others.get(code)
            if other is None:
                other = self._others[code] = _Series(("other", *[""] * 7), code)
            return other
        self._kept += 1
        found = _Series((*_labels(exchange), _dry_run(exchange)), code)
        self._series.setdefault(key, {})[code] = found
        return found

    def long_running(self, exchange: Exchange, step: int) -> None:
        labels = _labels(exchange)
        count = self._long_running.get(labels, 0) + step
        if count:
            self._long_running[labels] = count
        else:
            del self._long_running[labels]

    def collect(self) -> Iterator[Metric]:
        yield self._totals()
        yield from self._durations()
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

    def _all(self) -> Iterator[_Series]:
        for by_code in self._series.values():
            yield from by_code.values()
        yield from self._others.values()

    def _totals(self) -> Metric:
        family = CounterMetricFamily(
            "apiserver_request", "Requests answered.", labels=(*_REQUEST_LABELS, "code")
        )
        counts: dict[Labels, int] = {}
        for series in self._all():
            labels = (*series.labels, str(series.code))
            counts[labels] = counts.get(labels, 0) + series.count
        for labels, count in counts.items():
            family.add_metric(labels, count)
        return family

    def _durations(self) -> Iterator[Metric]:
        """Also under the name that objectives are measured by, which knows no dry runs."""
        text = "How long requests took."
        yield self._histogram("apiserver_request_duration_seconds", text, _REQUEST_LABELS)
        yield self._histogram("apiserver_request_sli_duration_seconds", text, _LABELS)

    def _histogram(self, name: str, text: str, kept: Labels) -> Metric:
        family = HistogramMetricFamily(name, text, labels=kept)
        totals: dict[Labels, tuple[float, list[int]]] = {}
        for series in self._all():
            if sum(series.counts):
                labels = series.labels[: len(kept)]
                total_s, counts = totals.get(labels, (0.0, [0] * len(series.counts)))
                summed = [a + b for a, b in zip(counts, series.counts, strict=True)]
                totals[labels] = (total_s + series.total_s, summed)
        for labels, (total_s, counts) in totals.items():
            family.add_metric(labels, _buckets(counts), total_s)
        return family


def _buckets(counts: list[int]) -> list[tuple[str, float]]:
    """The edges as Go writes them, because rules name them."""
    edges = (*(f"{edge:g}" for edge in _BUCKETS_S), "+Inf")
    return [(edge, float(seen)) for edge, seen in zip(edges, accumulate(counts), strict=True)]


def _labels(exchange: Exchange) -> Labels:
    target = exchange.target
    method = exchange.method if exchange.method in _METHODS else "other"
    if not isinstance(target, ApiPath):
        return (method, "", "", "", "", "", "")
    is_one = target.name or exchange.verb == "create"
    scope = "resource" if is_one else "namespace" if target.namespace else "cluster"
    return (
        _reported_verb(exchange, target, method),
        target.group,
        target.version,
        target.resource,
        target.subresource,
        scope,
        _COMPONENT,
    )


def _reported_verb(exchange: Exchange, target: ApiPath, method: str) -> str:
    if target.subresource in _CONNECTING:
        return "CONNECT"
    if exchange.verb in ("list", "watch", "deletecollection"):
        return exchange.verb.upper()
    return "APPLY" if _is_apply(exchange) else method


def _kind_of_write(exchange: Exchange) -> str:
    """Of two requests that differ in their labels by this alone; quick, as every request asks."""
    dry = _dry_run(exchange) if "dryRun" in exchange.request.raw_query else ""
    return f"apply {dry}" if _is_apply(exchange) else dry


def _is_apply(exchange: Exchange) -> bool:
    return exchange.method == "PATCH" and exchange.headers.get("Content-Type") == _APPLY


def _dry_run(exchange: Exchange) -> str:
    values = exchange.query.get("dryRun", ())
    if not values:
        return ""
    return "All" if set(values) == {"All"} else "invalid"
