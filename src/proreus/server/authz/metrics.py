"""Authorization's numbers under the names kube-apiserver gives them."""

from __future__ import annotations

from collections.abc import Iterator

from proreus.server.authz.authorizer import Authorizer, ChainLink
from proreus.server.config_files.followed_file import Reloads
from proreus.server.prometheus import (
    Collector,
    CollectorRegistry,
    Counter,
    CounterMetricFamily,
    Histogram,
    Metric,
)

_PREFIX = "apiserver_authorization"
# client-go's default buckets, which kube-apiserver uses here.
_BUCKETS_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)

_CONDITION_BUCKETS_S = (0.001, 0.005, 0.01, 0.025, 0.1, 0.2, 0.25)


class AuthorizationMetrics(Collector):
    """Decisions are plain integers until they are scraped: every request makes one."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.reloads = Reloads()
        self.webhooks = WebhookMetrics(registry)
        self._links: dict[tuple[str, str], ChainLink] = {}
        registry.register(self)

    def counted(self, kind: str, name: str, authorize: Authorizer) -> ChainLink:
        """A link that counts on from where the one before it with this type and name was."""
        link = ChainLink(authorize)
        if (before := self._links.get((kind, name))) is not None:
            link.allowed, link.denied = before.allowed, before.denied
        self._links[kind, name] = link
        return link

    def collect(self) -> Iterator[Metric]:
        decisions = CounterMetricFamily(
            f"{_PREFIX}_decisions",
            "Terminal decisions of an authorizer.",
            labels=("type", "name", "decision"),
        )
        for (kind, name), link in self._links.items():
            decisions.add_metric((kind, name, "allowed"), link.allowed)
            decisions.add_metric((kind, name, "denied"), link.denied)
        yield decisions
        yield from self.reloads.families(f"{_PREFIX}_config_controller")


class WebhookMetrics:
    def __init__(self, registry: CollectorRegistry) -> None:
        labels = ("name", "result")
        self._evaluations = Counter(
            f"{_PREFIX}_webhook_evaluations", "Calls to a webhook.", labels, registry=registry
        )
        self._fail_open = Counter(
            f"{_PREFIX}_webhook_evaluations_fail_open",
            "Failures of a webhook after which the next authorizer was asked.",
            labels,
            registry=registry,
        )
        self._duration_s = Histogram(
            f"{_PREFIX}_webhook_duration_seconds",
            "How long calls to a webhook took.",
            labels,
            buckets=_BUCKETS_S,
            registry=registry,
        )
        owner, prefix = ("type", "name"), f"{_PREFIX}_match_condition"
        self._exclusions = Counter(
            f"{prefix}_exclusions",
            "Actions that a webhook was not asked about.",
            owner,
            registry=registry,
        )
        self._condition_errors = Counter(
            f"{prefix}_evaluation_errors",
            "Conditions that could not be evaluated.",
            owner,
            registry=registry,
        )
        self._condition_s = Histogram(
            f"{prefix}_evaluation_seconds",
            "How long evaluating conditions took.",
            owner,
            buckets=_CONDITION_BUCKETS_S,
            registry=registry,
        )

    def evaluated(self, name: str, result: str, seconds: float) -> None:
        self._evaluations.labels(name, result).inc()
        self._duration_s.labels(name, result).observe(seconds)

    def failed_open(self, name: str, result: str) -> None:
        self._fail_open.labels(name, result).inc()

    def matched(self, name: str, seconds: float, *, is_excluded: bool, is_error: bool) -> None:
        owner = ("Webhook", name)
        self._condition_s.labels(*owner).observe(seconds)
        if is_error:
            self._condition_errors.labels(*owner).inc()
        elif is_excluded:
            self._exclusions.labels(*owner).inc()
