"""The page of metrics, as Go's client library writes it."""

from __future__ import annotations

from collections.abc import Iterator

from proreus.server.http.metrics_text import metrics_text
from proreus.server.prometheus import (
    Collector,
    CollectorRegistry,
    Counter,
    GaugeMetricFamily,
    Histogram,
    Metric,
)


class Zebras(Collector):
    def collect(self) -> Iterator[Metric]:
        yield GaugeMetricFamily("zebras", "All of them.", 3)


def test_families_come_by_name_and_whole_numbers_without_a_point() -> None:
    registry = CollectorRegistry()
    registry.register(Zebras())
    requests = Counter("requests", 'Say "hi"\\\n.', ["verb", "code"], registry=registry)
    requests.labels("GET", "200").inc(2)
    requests.labels('P"\\\n', "200").inc(0.5)

    text = b"".join(metrics_text(registry)).decode()

    assert "_created" not in text
    assert text.splitlines() == [
        '# HELP requests_total Say "hi"\\\\\\n.',
        "# TYPE requests_total counter",
        'requests_total{code="200",verb="GET"} 2',
        'requests_total{code="200",verb="P\\"\\\\\\n"} 0.5',
        "# HELP zebras All of them.",
        "# TYPE zebras gauge",
        "zebras 3",
    ]


def test_the_buckets_of_one_histogram_stay_together_and_in_order() -> None:
    registry = CollectorRegistry()
    histogram = Histogram("took", "x", ["a"], buckets=(1, 10), registry=registry)
    for label in ("two", "one"):
        histogram.labels(label).observe(5)

    lines = b"".join(metrics_text(registry)).decode().splitlines()[2:]

    assert lines == [
        f"took_{line}"
        for label in ("one", "two")
        for line in (
            f'bucket{{a="{label}",le="1"}} 0', f'bucket{{a="{label}",le="10"}} 1',
            f'bucket{{a="{label}",le="+Inf"}} 1', f'count{{a="{label}"}} 1',
            f'sum{{a="{label}"}} 5',
        )
    ]  # fmt: skip
