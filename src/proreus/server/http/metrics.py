"""Requests counted under the names kube-apiserver gives them (server.md §5.7).

Plain numbers in a dictionary, turned into metrics when they are scraped: a request pays less than
a microsecond.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import field

from proreus.aio.clock import Clock
from proreus.api.patch.patch_type import PatchType
from proreus.api.wire.path import ApiPath
from proreus.lazy_dataclass import dataclass
from proreus.server.authz.impersonation_metrics import ImpersonationMetrics
from proreus.server.histogram import REQUEST_BUCKETS_S, BucketCounts
from proreus.server.http.exchange import Exchange
from proreus.server.http.request_info import RequestInfo
from proreus.server.http.seats import Limits
from proreus.server.http.stage_times import StageTimes
from proreus.server.prometheus import (
    Collector,
    CollectorRegistry,
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)

_SLI_BUCKETS_S = REQUEST_BUCKETS_S[2:]
_BODY_BUCKETS_B = tuple(50_000.0 + 100_000 * step for step in range(31))
_RESPONSE_BUCKETS_B = tuple(1_000.0 * 10**power for power in range(7))
_LABELS = ("verb", "group", "version", "resource", "subresource", "scope", "component")
_REQUEST_LABELS = (*_LABELS, "dry_run")
_COMPONENT = "apiserver"
_CONNECTING = frozenset({"attach", "exec", "portforward", "proxy"})
_APPLY = PatchType.APPLY.value
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
# Unknown paths must not grow the table without end, nor keep what is served out of it.
_KEYS_MAX = 5000
_REFUSED_KEYS_MAX = 500
_LABEL_CHARS_MAX = 100
_REFUSED = frozenset({400, 401, 403, 404, 405})

# Of metrics that Kubernetes promises to keep, the words say so.
_TOTAL_TEXT = (
    "[STABLE] Counter of apiserver requests broken out for each verb, dry run value, group, "
    "version, resource, scope, component, and HTTP response code."
)
_DURATION_TEXT = (
    "[STABLE] Response latency distribution in seconds for each verb, dry run value, group, "
    "version, resource, subresource, scope and component."
)
_INFLIGHT_TEXT = (
    "[STABLE] Maximal number of currently used inflight request limit of this apiserver per "
    "request kind in last second."
)
_LONG_RUNNING_TEXT = (
    "[STABLE] Gauge of all active long-running apiserver requests broken out by verb, group, "
    "version, resource, scope and component. Not all requests are tracked this way."
)
_SIZES_TEXT = (
    "[STABLE] Response size distribution in bytes for each group, version, verb, resource, "
    "subresource, scope and component."
)
_BODIES_TEXT = "Apiserver request body size in bytes broken out by resource and verb."

LabelValues = tuple[str, ...]


@dataclass(slots=True)
class _Series:
    """The answers of one code to one kind of request."""

    labels: LabelValues
    code: int
    streams: int = 0  # whose time and size say nothing
    seconds: BucketCounts = field(default_factory=lambda: BucketCounts(REQUEST_BUCKETS_S))
    sizes: BucketCounts = field(default_factory=lambda: BucketCounts(_RESPONSE_BUCKETS_B))


class RequestMetrics(Collector):
    def __init__(self, registry: CollectorRegistry, limits: Limits, clock: Clock) -> None:
        self.times = StageTimes(registry, clock)
        self.impersonation = ImpersonationMetrics(registry, clock)
        self._series: dict[tuple[LabelValues, int], _Series] = {}
        self._others: dict[int, _Series] = {}
        # What was found for requests of a kind: what they ask for, their code, and how they write.
        self._found: dict[tuple[RequestInfo, int, str], _Series] = {}
        self._long_running: dict[LabelValues, int] = {}
        self._bodies: dict[LabelValues, BucketCounts] = {}
        self._limits = limits
        registry.register(self)

    def observe(self, exchange: Exchange, code: int, seconds: float, size: int) -> BucketCounts:
        """``size`` of an answer, -1 if it is not known yet: then the caller adds it to what is
        returned. Only those of reads are counted, as in Kubernetes."""
        method, written = exchange.method, ""
        if method == "PATCH" or exchange.request.raw_query:
            written = _kind_of_write(exchange)
        found = self._found.get((exchange.info, code, written))
        if found is None:
            found = self._find(exchange, code, written)
        if exchange.is_long_running:
            found.streams += 1
            return found.sizes
        counts = found.seconds
        if seconds <= counts.first:
            counts.lowest += 1
            counts.total += seconds
        else:
            counts.add(seconds)
        if method == "GET" and size >= 0:
            found.sizes.add(size)
        return found.sizes

    def observe_body(self, exchange: Exchange, size: int) -> None:
        target = exchange.info.target
        if not isinstance(target, ApiPath):
            return
        verb = "delete_collection" if exchange.verb == "deletecollection" else exchange.verb
        labels = (target.group, target.resource, verb)
        found = self._bodies.get(labels)
        if found is None:
            if len(self._bodies) >= _REFUSED_KEYS_MAX or max(map(len, labels)) > _LABEL_CHARS_MAX:
                labels = ("", "other", verb)
            found = self._bodies.setdefault(labels, BucketCounts(_BODY_BUCKETS_B))
        found.add(size)

    def _find(self, exchange: Exchange, code: int, written: str) -> _Series:
        labels = (*_labels(exchange), _dry_run(exchange))
        found = self._series.get((labels, code))
        if found is None:
            room = _REFUSED_KEYS_MAX if code in _REFUSED else _KEYS_MAX
            if len(self._series) >= room or max(map(len, labels)) > _LABEL_CHARS_MAX:
                return self._others.setdefault(code, _Series(("other", *[""] * 7), code))
            found = self._series[labels, code] = _Series(labels, code)
        if len(self._found) >= _KEYS_MAX:
            self._found.clear()
        self._found[exchange.info, code, written] = found
        return found

    @contextmanager
    def running(self, exchange: Exchange) -> Iterator[None]:
        """While a stream is open."""
        labels, open_streams = _labels(exchange), self._long_running
        open_streams[labels] = open_streams.get(labels, 0) + 1
        try:
            yield
        finally:
            open_streams[labels] -= 1
            if not open_streams[labels]:
                del open_streams[labels]

    def collect(self) -> Iterator[Metric]:
        yield self._totals()
        yield from self._durations()
        yield self._sizes()
        bodies = HistogramMetricFamily(
            "apiserver_request_body_size_bytes", _BODIES_TEXT, labels=("group", "resource", "verb")
        )
        for labels, found in self._bodies.items():
            bodies.add_metric(labels, found.buckets(), found.total)
        yield bodies
        running = GaugeMetricFamily(
            "apiserver_longrunning_requests", _LONG_RUNNING_TEXT, labels=_LABELS
        )
        for labels, count in self._long_running.items():
            running.add_metric(labels, count)
        yield running
        kinds = ("request_kind",)
        current = GaugeMetricFamily(
            "apiserver_current_inflight_requests", _INFLIGHT_TEXT, labels=kinds
        )
        waiting = GaugeMetricFamily(
            "apiserver_current_inqueue_requests", "Requests that wait without a seat.", labels=kinds
        )
        limits = self._limits
        for is_read, kind in enumerate(("mutating", "readOnly")):
            current.add_metric((kind,), limits.working[is_read])
            waiting.add_metric((kind,), limits.waiting_by_kind[is_read])
        yield from (current, waiting)
        yield CounterMetricFamily(
            "apiserver_dropped_requests", "Requests turned away with 429.", value=limits.rejected
        )

    def _all(self) -> Iterator[_Series]:
        yield from self._series.values()
        yield from self._others.values()

    def _totals(self) -> Metric:
        family = CounterMetricFamily(
            "apiserver_request", _TOTAL_TEXT, labels=(*_REQUEST_LABELS, "code")
        )
        for series in self._all():
            count = series.streams + len(series.seconds)
            family.add_metric((*series.labels, str(series.code)), count)
        return family

    def _durations(self) -> Iterator[Metric]:
        """Also under the name that objectives are measured by, which knows no dry runs."""
        text = "How long requests took."
        for name, said, kept, buckets in (
            ("apiserver_request_duration_seconds", _DURATION_TEXT, _REQUEST_LABELS, None),
            ("apiserver_request_sli_duration_seconds", text, _LABELS, _SLI_BUCKETS_S),
        ):
            counted = ((series.labels[: len(kept)], series.seconds) for series in self._all())
            family = HistogramMetricFamily(name, said, labels=kept)
            yield _summed(family, counted, REQUEST_BUCKETS_S, buckets)

    def _sizes(self) -> Metric:
        family = HistogramMetricFamily("apiserver_response_sizes", _SIZES_TEXT, labels=_LABELS)
        counted = ((series.labels[: len(_LABELS)], series.sizes) for series in self._all())
        return _summed(family, counted, _RESPONSE_BUCKETS_B)


def _summed(
    family: HistogramMetricFamily,
    counted: Iterable[tuple[LabelValues, BucketCounts]],
    bounds: tuple[float, ...],
    kept: tuple[float, ...] | None = None,
) -> Metric:
    """Those with the same labels together. ``kept``: the bounds of interest, if not all."""
    sums: dict[LabelValues, BucketCounts] = {}
    for labels, counts in counted:
        if counts:
            sums.setdefault(labels, BucketCounts(bounds)).add_all(counts)
    for labels, summed in sums.items():
        family.add_metric(labels, summed.buckets(kept), summed.total)
    return family


def _labels(exchange: Exchange) -> LabelValues:
    target = exchange.info.target
    method = exchange.method if exchange.method in _METHODS else "other"
    if not isinstance(target, ApiPath):
        return (method, "", "", "", "", "", "")
    is_one = exchange.name or exchange.verb == "create"
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
    if exchange.verb in ("list", "watch"):
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
