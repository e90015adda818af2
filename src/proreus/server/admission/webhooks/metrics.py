"""Numbers of admission webhooks under the names kube-apiserver gives them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from proreus.server.bare_counter import BareCounter
from proreus.server.prometheus import (
    Collector,
    CollectorRegistry,
    CounterMetricFamily,
    Histogram,
    Metric,
)

_SECONDS = (0.005, 0.025, 0.1, 0.5, 1.0, 2.5)
_CONDITION_SECONDS = (0.001, 0.005, 0.01, 0.025, 0.1, 0.2, 0.25)
_CODE_MAX = 600
_NAME = "apiserver_admission_"
_CONDITION = ("name", "kind", "type", "operation")


class AdmissionWebhookMetrics(Collector):
    """``type`` is "admit" or "validating"; codes beyond 600 count as 600."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._rejections: Counter[tuple[str, ...]] = Counter()
        self._failed_open: Counter[tuple[str, ...]] = Counter()
        self._requests: Counter[tuple[str, ...]] = Counter()
        self._condition_errors: Counter[tuple[str, ...]] = Counter()
        self._exclusions: Counter[tuple[str, ...]] = Counter()
        self._calls = Histogram(
            f"{_NAME}webhook_admission_duration_seconds",
            "[STABLE] Admission webhook latency histogram in seconds, identified by name and "
            "broken out for each operation and API resource and type (validate or admit).",
            ("name", "type", "operation", "rejected"),
            buckets=(*_SECONDS, 10, 25),
            registry=registry,
        )
        self._conditions = Histogram(
            f"{_NAME}match_condition_evaluation_seconds",
            "How long match conditions took.",
            _CONDITION,
            buckets=_CONDITION_SECONDS,
            registry=registry,
        )
        registry.register(self)

    def called(
        self, name: str, kind: str, operation: str, *, took_s: float, code: int, is_rejected: bool
    ) -> None:
        rejected = str(is_rejected).lower()
        self._requests[name, kind, operation, _code(code), rejected] += 1
        self._calls.labels(name, kind, operation, rejected).observe(took_s)

    def rejected(self, name: str, kind: str, operation: str, error: str, code: int) -> None:
        self._rejections[name, kind, operation, error, _code(code)] += 1

    def failed_open(self, name: str, kind: str) -> None:
        self._failed_open[name, kind] += 1

    def conditions_evaluated(
        self, name: str, kind: str, operation: str, *, took_s: float, failures: int
    ) -> None:
        self._conditions.labels(name, "webhook", kind, operation).observe(took_s)
        if failures:
            self._condition_errors[name, "webhook", kind, operation] += failures

    def excluded(self, name: str, kind: str, operation: str) -> None:
        self._exclusions[name, "webhook", kind, operation] += 1

    def collect(self) -> Iterator[Metric]:
        found = (
            ("webhook_rejection_count", "Refusals by admission webhooks.",
             ("name", "type", "operation", "error_type", "rejection_code"), self._rejections),
            ("webhook_fail_open_count", "Failures of webhooks that let requests pass.",
             ("name", "type"), self._failed_open),
            ("webhook_request_total", "Calls of admission webhooks.",
             ("name", "type", "operation", "code", "rejected"), self._requests),
            ("match_condition_evaluation_errors_total", "Match conditions that failed.",
             _CONDITION, self._condition_errors),
            ("match_condition_exclusions_total", "Requests that match conditions excluded.",
             _CONDITION, self._exclusions),
        )  # fmt: skip
        for name, text, labels, counts in found:
            kind = CounterMetricFamily if name.endswith("_total") else BareCounter
            family = kind(f"{_NAME}{name}", text, labels=labels)
            for values, count in counts.items():
                family.add_metric(values, count)
            yield family


def _code(code: int) -> str:
    return str(min(code, _CODE_MAX))
