"""The time that admission takes, under the names that Kubernetes promises to keep."""

from __future__ import annotations

from collections.abc import Iterator

from proreus.server.prometheus import Collector, CollectorRegistry, HistogramMetricFamily, Metric
from proreus.server.registry.admission import Admission

_CONTROLLER_TEXT = (
    "[STABLE] Admission controller latency histogram in seconds, identified by name and broken out "
    "for each operation and API resource and type (validate or admit)."
)
_STEP_TEXT = (
    "[STABLE] Admission sub-step latency histogram in seconds, broken out for each operation and "
    "API resource and step type (validate or admit)."
)


class PluginMetrics(Collector):
    def __init__(self, registry: CollectorRegistry, admission: Admission) -> None:
        both = (admission.mutating, admission.validating)
        self._steps = [step for step in both if step is not None]
        registry.register(self)

    def collect(self) -> Iterator[Metric]:
        labels = ("operation", "rejected", "type")
        controllers = HistogramMetricFamily(
            "apiserver_admission_controller_admission_duration_seconds",
            _CONTROLLER_TEXT,
            labels=("name", *labels),
        )
        steps = HistogramMetricFamily(
            "apiserver_admission_step_admission_duration_seconds", _STEP_TEXT, labels=labels
        )
        for step in self._steps:
            for half in step.half_times():
                for operation, rejected, counts in half.counted():
                    values = (half.name, operation, rejected, step.type)
                    controllers.add_metric(values, counts.buckets(), counts.total)
            for operation, rejected, counts in step.step_times.counted():
                whole = (operation, rejected, step.type)
                steps.add_metric(whole, counts.buckets(), counts.total)
        yield from (controllers, steps)
