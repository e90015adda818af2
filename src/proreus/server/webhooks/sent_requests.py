"""Requests that this process sent to webhooks, under the name of client-go's metric.

Of the process, not of a server: as ``process_cpu_seconds_total`` and its like.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from proreus.server.prometheus import Collector, CounterMetricFamily, Metric

NO_ANSWER = "<error>"  # in place of a code
_HOSTS_MAX = 1024  # of webhooks that came and went; further ones are counted together
_OTHERS = "others"


class SentRequests(Collector):
    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str, str]] = Counter()

    def count(self, code: str, method: str, host: str) -> None:
        key = (code, method, host)
        if key not in self._counts and len(self._counts) >= _HOSTS_MAX:
            key = (code, method, _OTHERS)
        self._counts[key] += 1

    def collect(self) -> Iterator[Metric]:
        family = CounterMetricFamily(
            "rest_client_requests",
            "Number of HTTP requests, partitioned by status code, method, and host.",
            labels=("code", "method", "host"),
        )
        for key, count in self._counts.items():
            family.add_metric(key, count)
        yield family


SENT = SentRequests()
