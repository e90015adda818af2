"""How often requesters ask to act as somebody else, under the names kube-apiserver gives it."""

from __future__ import annotations

from proreus.aio.clock import Clock
from proreus.server.prometheus import CollectorRegistry, Counter, Histogram

_PREFIX = "apiserver_impersonation"
_LABELS = ("mode", "decision")
_BUCKETS_S = tuple(0.001 * 2**power for power in range(15))
_LEGACY = "legacy"  # the mode without constraints


class ImpersonationMetrics:
    """``attempts`` are of requests, ``checks`` those that an authorizer is asked for them."""

    def __init__(self, registry: CollectorRegistry, clock: Clock) -> None:
        self.now = clock.monotonic
        self._attempts, self._attempts_s = _counted(registry, "attempts", "impersonation attempts")
        self._checks, self._checks_s = _counted(
            registry,
            "authorization_attempts",
            "authorization checks made by the impersonation handler",
        )

    def attempted(self, mode: str | None, since: float) -> None:
        """None: no mode has let the requester through."""
        decision = "denied" if mode is None else "allowed"
        labels = ("" if mode is None else mode or _LEGACY, decision)
        self._attempts.labels(*labels).inc()
        self._attempts_s.labels(*labels).observe(self.now() - since)

    def checked(self, mode: str, since: float, *, is_allowed: bool) -> None:
        labels = (mode or _LEGACY, "allowed" if is_allowed else "denied")
        self._checks.labels(*labels).inc()
        self._checks_s.labels(*labels).observe(self.now() - since)


def _counted(registry: CollectorRegistry, name: str, what: str) -> tuple[Counter, Histogram]:
    count = Counter(
        f"{_PREFIX}_{name}",
        f"Total number of {what} split by mode and decision.",
        _LABELS,
        registry=registry,
    )
    duration = Histogram(
        f"{_PREFIX}_{name}_duration_seconds",
        f"Latency of {what} in seconds split by mode and decision.",
        _LABELS,
        buckets=_BUCKETS_S,
        registry=registry,
    )
    return count, duration
