"""Jobs and their pods for tests of decisions."""

from __future__ import annotations

from typing import Any

from proreus.api.object import KubeObject
from proreus.api.values.timestamp import format_time
from proreus.cluster.controllers.job.pod_counts import FINALIZER

NOW = 1_767_225_600.0
PREFIX = "batch.kubernetes.io/"


def job(status: dict[str, Any] | None = None, **spec: Any) -> KubeObject:
    metadata = {"name": "sum", "namespace": "default", "uid": "me"}
    spec.setdefault("template", {"spec": {"restartPolicy": "Never"}})
    return KubeObject.from_dict({"metadata": metadata, "spec": spec, "status": status or {}})


def indexed(completions: int, status: dict[str, Any] | None = None, **spec: Any) -> KubeObject:
    spec = {"parallelism": completions, **spec}
    return job(status, completions=completions, completionMode="Indexed", **spec)


def pod(
    name: str,
    phase: str = "Running",
    *,
    index: int | None = None,
    failures: int | None = None,
    age_s: float = 0,
    held: bool = True,
    going: bool = False,
    code: int | None = None,
    condition: str = "",
    ready: bool = False,
) -> KubeObject:
    annotations = {}
    if index is not None:
        annotations[f"{PREFIX}job-completion-index"] = str(index)
    if failures is not None:
        annotations[f"{PREFIX}job-index-failure-count"] = str(failures)
    metadata: dict[str, Any] = {
        "name": name,
        "namespace": "default",
        "uid": name,
        "creationTimestamp": format_time(NOW - age_s),
        "annotations": annotations,
        "finalizers": [FINALIZER] if held else [],
    }
    if going:
        metadata["deletionTimestamp"] = format_time(NOW)
    status: dict[str, Any] = {"phase": phase}
    if code is not None:
        ended = {"exitCode": code, "finishedAt": format_time(NOW - age_s)}
        status["containerStatuses"] = [{"name": "main", "state": {"terminated": ended}}]
    kinds = [condition] if condition else (["Ready"] if ready else [])
    status["conditions"] = [{"type": kind, "status": "True"} for kind in kinds]
    return KubeObject.from_dict({"metadata": metadata, "spec": {}, "status": status})
