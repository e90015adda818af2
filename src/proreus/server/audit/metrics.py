"""Audit's numbers under the names kube-apiserver gives them; plain integers until scraped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from proreus.server.audit.policy import Level
from proreus.server.config_files.followed_file import Reloads
from proreus.server.prometheus import Collector, CollectorRegistry, CounterMetricFamily, Metric


class AuditMetrics(Collector):
    def __init__(self, registry: CollectorRegistry) -> None:
        self.events = 0
        self.rejected = 0  # requests whose first event a back end did not take
        self.levels: Counter[Level] = Counter()
        self.errors: Counter[str] = Counter()  # events a back end lost, by its name
        self.reloads = Reloads()  # of the policy file
        registry.register(self)

    def collect(self) -> Iterator[Metric]:
        yield CounterMetricFamily(
            "apiserver_audit_event",
            "Audit events generated and sent to the back ends.",
            value=self.events,
        )
        if self.levels:
            text = "Requests by policy level."
            yield _by_label("apiserver_audit_level", text, "level", self.levels)
        if self.errors:
            yield _by_label("apiserver_audit_error", "Audit events lost.", "plugin", self.errors)
        yield CounterMetricFamily(
            "apiserver_audit_requests_rejected",
            "Requests rejected because of an audit back end.",
            value=self.rejected,
        )
        yield from self.reloads.families("apiserver_audit_policy")


def _by_label(name: str, text: str, label: str, counts: Counter[str] | Counter[Level]) -> Metric:
    family = CounterMetricFamily(name, text, labels=(label,))
    for value, count in counts.items():
        family.add_metric((value,), count)
    return family
