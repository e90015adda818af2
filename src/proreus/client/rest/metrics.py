"""A client's requests as Prometheus metrics, under the names that dashboards know.

registry = CollectorRegistry()
client = Client(config, observer=RestMetrics(config.host, registry))
"""

from __future__ import annotations

from prometheus_client import REGISTRY, CollectorRegistry, Counter, Histogram

_SECONDS = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0)


class RestMetrics:
    """Implements ``client.rest.observer.Observer``. One per registry; clients may share it."""

    def __init__(self, host: str, registry: CollectorRegistry = REGISTRY) -> None:
        self._host = host
        self._requests = Counter(
            "rest_client_requests",
            "Attempts by status code, method and host.",
            ("code", "method", "host"),
            registry=registry,
        )
        self._durations = Histogram(
            "rest_client_request_duration_seconds",
            "Seconds until an answer, by verb and host.",
            ("verb", "host"),
            buckets=_SECONDS,
            registry=registry,
        )
        self._throttled = Histogram(
            "rest_client_rate_limiter_duration_seconds",
            "Seconds a request waited for the client's own rate limit, by host.",
            ("host",),
            buckets=_SECONDS,
            registry=registry,
        )

    def request_done(self, *, verb: str, method: str, code: str, duration_s: float) -> None:
        self._requests.labels(code, method, self._host).inc()
        self._durations.labels(verb, self._host).observe(duration_s)

    def throttled(self, delay_s: float) -> None:
        self._throttled.labels(self._host).observe(delay_s)
