"""What controllers, their queues and informers count, as Prometheus metrics with Kubernetes' names.

    REGISTRY.register(ControllerMetrics(controllers=[controller], electors=[elector]))

Nothing is counted here: queues and controllers count for themselves, and are read at each scrape.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import accumulate
from typing import TypeVar

from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from proreus.client.controller.controller import FAILURES, Controller, ReconcileOutcome
from proreus.client.informer import InformerStatus, SharedInformer
from proreus.client.leader_election import LeaderElector
from proreus.client.workqueue.statistics import BUCKET_BOUNDS_S, Durations, QueueStatistics

_T = TypeVar("_T")
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
        yield from _reconciles(self._controllers)
        yield _gauge(
            "leader_election_master_status", "1 if this candidate leads",
            [(elector.name, float(elector.is_leader)) for elector in self._electors],
        )  # fmt: skip


def _reconciles(controllers: list[Controller]) -> Iterator[Metric]:
    prefix = "controller_runtime"
    ended = CounterMetricFamily(
        f"{prefix}_reconcile", "Reconciles by how they ended", labels=["controller", "result"]
    )
    for controller in controllers:
        for outcome, count in controller.outcomes.items():
            ended.add_metric([controller.name, outcome.value], count)
    yield ended
    by_controller = partial(_family, label="controller")
    failed = [(one.name, sum(one.outcomes[how] for how in FAILURES)) for one in controllers]
    given_up = [(one.name, one.outcomes[ReconcileOutcome.TERMINAL_ERROR]) for one in controllers]
    sizes = [(one.name, one.concurrency) for one in controllers]
    running = [(one.name, one.queue.in_work_count) for one in controllers]
    took = [(one.name, one.queue.statistics().work_duration) for one in controllers]
    counter, gauge = CounterMetricFamily, GaugeMetricFamily
    yield by_controller(counter, f"{prefix}_reconcile_errors", "Failed reconciles", failed)
    text = "Reconciles that failed for good"
    yield by_controller(counter, f"{prefix}_terminal_reconcile_errors", text, given_up)
    text = "Reconciles that may run at once"
    yield by_controller(gauge, f"{prefix}_max_concurrent_reconciles", text, sizes)
    yield by_controller(gauge, f"{prefix}_active_workers", "Reconciles under way", running)
    yield _histogram(f"{prefix}_reconcile_time_seconds", "Per reconcile", took, "controller")


def _queues(found: list[QueueStatistics]) -> Iterator[Metric]:
    def each(read: Callable[[QueueStatistics], _T]) -> list[tuple[str, _T]]:
        return [(queue.name, read(queue)) for queue in found]

    yield _gauge("workqueue_depth", "Items waiting", each(lambda q: q.depth))
    adds, retries = each(lambda q: q.adds_total), each(lambda q: q.retries_total)
    yield _family(CounterMetricFamily, "workqueue_adds", "Items added", adds)
    yield _family(CounterMetricFamily, "workqueue_retries", "Items for later", retries)
    unfinished, longest = each(lambda q: q.unfinished_work_s), each(lambda q: q.longest_running_s)
    yield _gauge("workqueue_unfinished_work_seconds", "Summed age of items in work", unfinished)
    name = "workqueue_longest_running_processor_seconds"
    yield _gauge(name, "Age of the oldest item in work", longest)
    waited, worked = each(lambda q: q.queue_duration), each(lambda q: q.work_duration)
    yield _histogram("workqueue_queue_duration_seconds", "From add to get", waited)
    yield _histogram("workqueue_work_duration_seconds", "From get to done", worked)


def _informers(found: list[InformerStatus]) -> Iterator[Metric]:
    queued, lags = [(i.name, i.queued_deltas) for i in found], [(i.name, i.lag_s) for i in found]
    yield _gauge("informer_queued_items", "Deltas received and not applied", queued)
    text = "Age of the oldest delta that is not applied"
    yield _gauge("informer_processing_lag_seconds", text, lags)
    ages = [(i.name, i.last_contact_age_s) for i in found if i.last_contact_age_s is not None]
    yield _gauge("informer_last_contact_seconds", "Since the server last said anything", ages)
    # As Kubernetes does: the last 15 digits, which a float holds exactly.
    numbered = [i for i in found if i.resource_version.isdecimal()]
    versions = [(i.name, float(i.resource_version[-15:])) for i in numbered]
    yield _gauge("informer_store_resource_version", "What the cache has seen", versions)
    ended = CounterMetricFamily(
        "informer_requests_ended", "Lists and watches that ended", labels=["name", "cause"]
    )
    for status in found:
        for cause, count in status.reconnect_causes.items():
            ended.add_metric([status.name, cause], count)
    yield ended


def _family(
    kind: type[GaugeMetricFamily | CounterMetricFamily],
    name: str,
    text: str,
    values: Iterable[tuple[str, float]],
    label: str = "name",
) -> Metric:
    family = kind(name, text, labels=[label])
    for whose, value in values:
        family.add_metric([whose], value)
    return family


_gauge = partial(_family, GaugeMetricFamily)


def _histogram(
    name: str, text: str, values: Iterable[tuple[str, Durations]], label: str = "name"
) -> Metric:
    family = HistogramMetricFamily(name, text, labels=[label])
    for whose, durations in values:
        reached = accumulate(durations.per_bucket)
        buckets = [(bound, float(n)) for bound, n in zip(_BOUNDS, reached, strict=True)]
        family.add_metric([whose], buckets, durations.sum_s)
    return family
