"""Open watches, the window of history and what clients report, as metrics: read at each scrape.

Beside the metrics that have Kubernetes' names (``watch_cache/metrics``): these are this server's
own. ``docs/debug.md`` lists them, ``docs/grafana`` draws them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from proreus.server.http.client_reports import ClientReport, ClientReports
from proreus.server.http.open_watches import OpenWatches
from proreus.server.prometheus import Collector, CounterMetricFamily, GaugeMetricFamily, Metric
from proreus.server.registry.collections import Collections
from proreus.server.storage.interface import Storage
from proreus.server.watch_cache.phase import Live

_RESOURCE = ("group", "resource")
_CLIENT = ("user", "client", "name")
LabelValues = tuple[str, ...]


class WatchMetrics(Collector):
    def __init__(
        self,
        watches: OpenWatches,
        collections: Collections,
        storage: Storage,
        reports: ClientReports,
    ) -> None:
        self._watches = watches
        self._collections = collections
        self._storage = storage
        self._reports = reports

    def collect(self) -> Iterator[Metric]:
        yield from self._of_watches()
        yield from self._of_caches()
        text = "The oldest revision that can still be read."
        yield GaugeMetricFamily(
            "proreus_storage_oldest_revision", text, self._storage.compacted_revision
        )
        yield from _of_clients(self._reports.all())

    def _of_watches(self) -> Iterator[Metric]:
        catching_up: Counter[LabelValues] = Counter()
        buffered: Counter[LabelValues] = Counter()
        behind: dict[LabelValues, int] = {}
        for watch in self._watches:
            resource = watch.collection.resource
            labels = (resource.group, resource.plural)
            found = watch.collection.cache.inspect_watcher(watch.subscriber)
            catching_up[labels] += not isinstance(watch.subscriber.phase, Live)
            buffered[labels] += found.buffered_bytes
            behind[labels] = max(behind.get(labels, 0), found.behind)
        text = "Open watches that are not live: starting, or reading history."
        yield _gauge("proreus_watch_catching_up", text, _RESOURCE, catching_up)
        text = "Bytes that the readers of watches have not taken."
        yield _gauge("proreus_watch_buffered_bytes", text, _RESOURCE, buffered)
        text = "Events that the watch which is furthest behind has still to be given."
        yield _gauge("proreus_watch_behind_events_max", text, _RESOURCE, behind)

    def _of_caches(self) -> Iterator[Metric]:
        events: dict[LabelValues, float] = {}
        oldest: dict[LabelValues, float] = {}
        for collection in self._collections.stored():
            resource, found = collection.resource, collection.cache.inspect()
            events[resource.group, resource.plural] = found.window_events
            oldest[resource.group, resource.plural] = found.oldest_revision
        text = "Changes in the history of the watch cache."
        yield _gauge("proreus_watch_cache_window_events", text, _RESOURCE, events)
        text = "The oldest revision that a watch can resume from."
        yield _gauge("proreus_watch_cache_oldest_revision", text, _RESOURCE, oldest)


def _of_clients(reports: Iterable[ClientReport]) -> Iterator[Metric]:
    depth: dict[LabelValues, float] = {}
    reconciles: dict[LabelValues, float] = {}
    failures: dict[LabelValues, float] = {}
    queued: dict[LabelValues, float] = {}
    lag_s: dict[LabelValues, float] = {}
    for report in reports:
        for controller in _named(report.controllers):
            labels = (report.user, report.identity, controller["name"])
            depth[labels] = _number(controller, "queueDepth")
            reconciles[labels] = _number(controller, "reconciles")
            failures[labels] = _number(controller, "failures")
        for informer in _named(report.informers):
            labels = (report.user, report.identity, informer["name"])
            queued[labels] = _number(informer, "queueLength")
            lag_s[labels] = _number(informer, "lagSeconds")
    yield _gauge("proreus_client_workqueue_depth", "Keys that wait.", _CLIENT, depth)
    yield _counter("proreus_client_reconciles", "Reconciles that ended.", reconciles)
    yield _counter("proreus_client_reconcile_failures", "Reconciles that failed.", failures)
    text = "Deltas received and not applied."
    yield _gauge("proreus_client_informer_queued", text, _CLIENT, queued)
    text = "Age of the oldest delta that is not applied."
    yield _gauge("proreus_client_informer_lag_seconds", text, _CLIENT, lag_s)


def _named(reported: list[Any]) -> Iterator[Mapping[str, Any]]:
    """Clients may report what they like."""
    for one in reported:
        if isinstance(one, dict) and isinstance(one.get("name"), str):
            yield one


def _number(reported: Mapping[str, Any], name: str) -> float:
    found = reported.get(name)
    return float(found) if isinstance(found, int | float) else 0.0


def _gauge(
    name: str, text: str, labels: LabelValues, values: Mapping[LabelValues, float]
) -> Metric:
    family = GaugeMetricFamily(name, text, labels=labels)
    for of, value in values.items():
        family.add_metric(of, value)
    return family


def _counter(name: str, text: str, values: Mapping[LabelValues, float]) -> Metric:
    family = CounterMetricFamily(name, text, labels=_CLIENT)
    for of, value in values.items():
        family.add_metric(of, value)
    return family
