"""What controllers, their queues and informers count, as Prometheus metrics with Kubernetes' names.

    REGISTRY.register(ControllerMetrics(controllers=[controller], electors=[elector]))

Nothing is counted here: the parts count for themselves, and are asked when somebody scrapes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import accumulate

from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from proreus.client.controller.controller import Controller
from proreus.client.informer import InformerStatus, SharedInformer
from proreus.client.leader_election import LeaderElector
from proreus.client.workqueue.statistics import BUCKET_BOUNDS_S, Durations, QueueStatistics

_BOUNDS = [*(f"{bound:g}" for bound in BUCKET_BOUNDS_S), "+Inf"]


class ControllerMetrics(Collector):
    """A collector of these controllers with their queues and informers, and of ``informers`` and
    ``electors`` beside them."""

    def __init__(
        self,
        *,
        controllers: Iterable[Controller] = (),
        informers: Iterable[SharedInformer] = (),
        electors: Iterable[LeaderElector] = (),
    ) -> None:
        self._controllers = list(controllers)
        of_controllers = [found for each in self._controllers for found in each.informers]
        self._informers = list(dict.fromkeys([*of_controllers, *informers]))
        self._electors = list(electors)

    def collect(self) -> Iterator[Metric]:
        yield from _queues([controller.queue.statistics() for controller in self._controllers])
        yield from _informers([informer.status() for informer in self._informers])
        reconciles = CounterMetricFamily(
            "controller_runtime_reconcile", "Reconciles by how they ended",
            labels=["controller", "result"],
        )  # fmt: skip
        for controller in self._controllers:
            for outcome, count in controller.outcomes.items():
                reconciles.add_metric([controller.name, outcome.value], count)
        yield reconciles
        yield _gauge(
            "leader_election_master_status", "1 if this candidate leads",
            [(elector.name, float(elector.is_leader)) for elector in self._electors],
        )  # fmt: skip


def _queues(found: list[QueueStatistics]) -> Iterator[Metric]:
    yield _gauge("workqueue_depth", "Items waiting", [(q.name, q.depth) for q in found])
    yield _counter("workqueue_adds", "Items added", [(q.name, q.adds_total) for q in found])
    yield _counter(
        "workqueue_retries", "Items for later", [(q.name, q.retries_total) for q in found]
    )
    yield _gauge(
        "workqueue_unfinished_work_seconds", "Summed age of items in work",
        [(q.name, q.unfinished_work_s) for q in found],
    )  # fmt: skip
    yield _gauge(
        "workqueue_longest_running_processor_seconds", "Age of the oldest item in work",
        [(q.name, q.longest_running_s) for q in found],
    )  # fmt: skip
    yield _histogram(
        "workqueue_queue_duration_seconds", "From add to get",
        [(q.name, q.queue_duration) for q in found],
    )  # fmt: skip
    yield _histogram(
        "workqueue_work_duration_seconds", "From get to done",
        [(q.name, q.work_duration) for q in found],
    )  # fmt: skip


def _informers(found: list[InformerStatus]) -> Iterator[Metric]:
    yield _gauge(
        "informer_queued_items", "Deltas received and not applied",
        [(i.name, i.queued_deltas) for i in found],
    )  # fmt: skip
    yield _gauge(
        "informer_processing_lag_seconds", "Age of the oldest delta that is not applied",
        [(i.name, i.lag_s) for i in found],
    )  # fmt: skip
    yield _gauge(
        "informer_last_contact_seconds", "Since the server last said anything",
        [(i.name, i.last_contact_age_s) for i in found if i.last_contact_age_s is not None],
    )  # fmt: skip
    yield _gauge(
        "informer_store_resource_version", "What the cache has seen",
        # As Kubernetes does: the last 15 digits, which a float holds exactly.
        [
            (i.name, float(i.resource_version[-15:]))
            for i in found if i.resource_version.isdecimal()
        ],
    )  # fmt: skip
    ended = CounterMetricFamily(
        "informer_requests_ended", "Lists and watches that ended", labels=["name", "cause"]
    )
    for status in found:
        for cause, count in status.reconnect_causes.items():
            ended.add_metric([status.name, cause], count)
    yield ended


def _gauge(name: str, text: str, values: Iterable[tuple[str, float]]) -> Metric:
    family = GaugeMetricFamily(name, text, labels=["name"])
    for label, value in values:
        family.add_metric([label], value)
    return family


def _counter(name: str, text: str, values: Iterable[tuple[str, float]]) -> Metric:
    family = CounterMetricFamily(name, text, labels=["name"])
    for label, value in values:
        family.add_metric([label], value)
    return family


def _histogram(name: str, text: str, values: Iterable[tuple[str, Durations]]) -> Metric:
    family = HistogramMetricFamily(name, text, labels=["name"])
    for label, durations in values:
        reached = accumulate(durations.per_bucket)
        buckets = [(bound, float(n)) for bound, n in zip(_BOUNDS, reached, strict=True)]
        family.add_metric([label], buckets, durations.sum_s)
    return family
