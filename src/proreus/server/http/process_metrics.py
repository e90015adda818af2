"""The process and its version as metrics, under the names every Kubernetes part gives them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from proreus.server.discovery.version import version_info
from proreus.server.prometheus import (
    Collector,
    CollectorRegistry,
    CounterMetricFamily,
    GaugeMetricFamily,
    Metric,
)
from proreus.server.webhooks.sent_requests import SENT

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
_FEATURES = (
    "APIServerIdentity",
    "ConsistentListFromCache",
    "MutatingAdmissionPolicy",
    "RetryGenerateName",
    "StructuredAuthenticationConfiguration",
    "StructuredAuthorizationConfiguration",
    "WatchList",
)
_PROCESS = Path("/proc/self")


class BuildInfo(Collector):
    """Always 1; the information is in the labels. Read when scraped."""

    def collect(self) -> Iterator[Metric]:
        known = version_info()
        family = GaugeMetricFamily(
            "kubernetes_build_info", "Which version this is.", labels=tuple(_LABELS)
        )
        family.add_metric([known[field] for field in _LABELS.values()], 1)
        yield family


class ProcessNumbers(Collector):
    """What ``/proc`` says of this process; nothing where there is none."""

    def collect(self) -> Iterator[Metric]:
        with suppress(OSError):
            yield from _usage(_PROCESS / "stat", Path("/proc/stat"))
        with suppress(OSError):
            open_files = sum(1 for _ in (_PROCESS / "fd").iterdir())
            yield GaugeMetricFamily(
                "process_open_fds", "Number of open file descriptors.", open_files
            )
            for line in (_PROCESS / "limits").read_text().splitlines():
                if line.startswith("Max open file"):
                    yield GaugeMetricFamily(
                        "process_max_fds",
                        "Maximum number of open file descriptors.",
                        float(line.split()[3]),
                    )


def _usage(own: Path, system: Path) -> Iterator[Metric]:
    """Raises OSError."""
    # Behind the program's name, which may have any characters: proc(5) counts from 3.
    fields = own.read_text().rpartition(")")[2].split()
    boot_s = next(
        float(line.split()[1])
        for line in system.read_text().splitlines()
        if line.startswith("btime ")
    )
    ticks = os.sysconf("SC_CLK_TCK")
    yield GaugeMetricFamily(
        "process_virtual_memory_bytes", "Virtual memory size in bytes.", float(fields[20])
    )
    yield GaugeMetricFamily(
        "process_resident_memory_bytes",
        "Resident memory size in bytes.",
        float(fields[21]) * os.sysconf("SC_PAGE_SIZE"),
    )
    yield GaugeMetricFamily(
        "process_start_time_seconds",
        "Start time of the process since unix epoch in seconds.",
        boot_s + float(fields[19]) / ticks,
    )
    yield CounterMetricFamily(
        "process_cpu_seconds_total",
        "Total user and system CPU time spent in seconds.",
        (float(fields[11]) + float(fields[12])) / ticks,
    )


class Features(Collector):
    """Features of Kubernetes by the names of their gates, as clients look for them. What is here
    cannot be switched off, so the stage is that of features without a gate."""

    def collect(self) -> Iterator[Metric]:
        family = GaugeMetricFamily(
            "kubernetes_feature_enabled",
            "Whether a feature of Kubernetes is here.",
            labels=("name", "stage"),
        )
        for name in _FEATURES:
            family.add_metric((name, ""), 1)
        yield family


def register_process_metrics(registry: CollectorRegistry) -> None:
    registry.register(ProcessNumbers())
    registry.register(BuildInfo())
    registry.register(Features())
    registry.register(SENT)
