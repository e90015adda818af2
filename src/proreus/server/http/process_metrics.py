"""The process and its version as metrics, under the names every Kubernetes part gives them."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from proreus.server.discovery.version import version_info

_LABELS = {
    "major": "major",
    "minor": "minor",
    "git_version": "gitVersion",
    "git_commit": "gitCommit",
    "git_tree_state": "gitTreeState",
    "build_date": "buildDate",
    "go_version": "goVersion",
    "compiler": "compiler",
    "platform": "platform",
}


class BuildInfo(Collector):
    """Always 1; the information is in the labels. Read when scraped."""

    def collect(self) -> Iterator[Metric]:
        known = version_info()
        family = GaugeMetricFamily(
            "kubernetes_build_info", "Which version this is.", labels=tuple(_LABELS)
        )
        family.add_metric([known[field] for field in _LABELS.values()], 1)
        yield family

    def describe(self) -> Iterator[Metric]:
        yield from ()


def register_process_metrics(registry: CollectorRegistry) -> None:
    ProcessCollector(registry=registry)
    registry.register(BuildInfo())
