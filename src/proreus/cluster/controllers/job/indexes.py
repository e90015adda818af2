"""Indexes of a Job's completions, and how they are written: ``1,3-5``. Pure."""

from __future__ import annotations

from proreus.api.object import KubeObject

INDEX = "batch.kubernetes.io/job-completion-index"
FAILURES = "batch.kubernetes.io/job-index-failure-count"
IGNORED = "batch.kubernetes.io/job-index-ignored-failure-count"


def is_indexed(job: KubeObject) -> bool:
    return bool(job.spec.completionMode == "Indexed")


def has_limit_per_index(job: KubeObject) -> bool:
    return is_indexed(job) and job.spec.backoffLimitPerIndex is not None


def index_of(pod: KubeObject) -> int | None:
    return _number(pod, INDEX)


def failures_before(pod: KubeObject) -> int:
    """How often the index had failed when this pod was made."""
    return _number(pod, FAILURES) or 0


def ignored_before(pod: KubeObject) -> int:
    return _number(pod, IGNORED) or 0


def _number(pod: KubeObject, annotation: str) -> int | None:
    text = pod.annotations.get(annotation, "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else None


def parse_indexes(text: str) -> frozenset[int]:
    """``1,3-5`` → 1, 3, 4, 5."""
    found: set[int] = set()
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return frozenset(found)


def format_indexes(indexes: frozenset[int]) -> str:
    runs: list[list[int]] = []
    for index in sorted(indexes):
        if runs and runs[-1][1] == index - 1:
            runs[-1][1] = index
        else:
            runs.append([index, index])
    return ",".join(_run(first, last) for first, last in runs)


def _run(first: int, last: int) -> str:
    """Two neighbours are written as two, a longer run by its ends."""
    if last - first < 2:
        return ",".join(map(str, range(first, last + 1)))
    return f"{first}-{last}"
