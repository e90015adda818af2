"""What policies decided, under Kubernetes' names."""

from __future__ import annotations

from proreus.server.prometheus import CollectorRegistry, Counter, Histogram

_LABELS = ("policy", "policy_binding", "error_type")
_ACTION = "enforcement_action"  # of validating policies alone
_BUCKETS = (0.0000005, 0.001, 0.01, 0.1, 1.0)
ALLOW, DENY, WARN, AUDIT = "allow", "deny", "warn", "audit"
NO_ERROR = "no_error"


class PolicyMetrics:
    """``kind``: validating or mutating."""

    def __init__(self, registry: CollectorRegistry, kind: str) -> None:
        self._has_actions = kind == "validating"
        labels = (*_LABELS, _ACTION) if self._has_actions else _LABELS
        prefix = f"apiserver_{kind}_admission_policy_check"
        self._checks = Counter(
            prefix,
            f"Checks of {kind} admission policies, by policy, binding and outcome.",
            labels,
            registry=registry,
        )
        self._seconds = Histogram(
            f"{prefix}_duration_seconds",
            f"How long {kind} admission policies took to evaluate.",
            labels,
            buckets=_BUCKETS,
            registry=registry,
        )

    def observe(
        self, policy: str, binding: str, action: str, elapsed_s: float, error: str = NO_ERROR
    ) -> None:
        labels = (policy, binding, error, action)[: 4 if self._has_actions else 3]
        self._checks.labels(*labels).inc()
        self._seconds.labels(*labels).observe(elapsed_s)


def error_type(message: str) -> str:
    """Of something that could not be evaluated."""
    if message.startswith("compilation"):
        return "compile_error"
    if message.startswith("validation failed due to running out of cost budget"):
        return "out_of_budget"
    return "invalid_error"
