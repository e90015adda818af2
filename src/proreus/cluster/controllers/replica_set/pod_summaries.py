"""What of a pod matters to its ReplicaSet, read once per version of the pod.

A ReplicaSet is reconciled whenever one of its pods changes, and then all of them count. A summary
is made of a pod's bytes without decoding the rest, and costs 1 µs once it is known.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from sys import intern

import msgspec

from proreus.api.object import KubeObject
from proreus.api.values.timestamp import parse_time
from proreus.cluster.pod_status import FINISHED


class _Metadata(msgspec.Struct, gc=False):
    deletionTimestamp: str | None = None


class _Spec(msgspec.Struct, gc=False):
    nodeName: str | None = None


class _Condition(msgspec.Struct, gc=False):
    type: str = ""
    status: str = ""
    lastTransitionTime: str | None = None


class _Status(msgspec.Struct, gc=False):
    phase: str | None = None
    conditions: list[_Condition] | None = None


class _Pod(msgspec.Struct, gc=False):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)
    spec: _Spec = msgspec.field(default_factory=_Spec)
    status: _Status = msgspec.field(default_factory=_Status)


_decode = msgspec.json.Decoder(_Pod).decode


@dataclass(frozen=True, slots=True)
class PodSummary:
    pod: KubeObject
    controller: str
    node: str
    phase: str
    is_finished: bool
    is_deleting: bool
    is_ready: bool
    ready_since: float | None

    @classmethod
    def of(cls, pod: KubeObject) -> PodSummary:
        content = _decode(pod.raw)
        since = None
        for condition in content.status.conditions or ():
            if condition.type == "Ready" and condition.status == "True":
                since = condition.lastTransitionTime or ""
        return cls(
            pod,
            pod.controller_uid,
            intern(content.spec.nodeName or ""),
            intern(content.status.phase or ""),
            content.status.phase in FINISHED,
            bool(content.metadata.deletionTimestamp),
            since is not None,
            parse_time(since) if since else None,
        )

    @property
    def is_active(self) -> bool:
        return not self.is_finished and not self.is_deleting

    def is_available(self, min_ready_s: int, now: float) -> bool:
        if not self.is_ready or not min_ready_s:
            return self.is_ready
        return self.ready_since is not None and self.ready_since + min_ready_s <= now


class PodSummaries:
    """By ReplicaSet; memory: one entry per pod of those that were reconciled."""

    def __init__(self) -> None:
        self._summaries: dict[str, dict[str, PodSummary]] = {}

    def refresh(self, key: str, pods: Iterable[KubeObject]) -> list[PodSummary]:
        """Of all pods of a ReplicaSet; others are forgotten."""
        found = self.of(key, pods)
        self._summaries[key] = {summary.pod.uid: summary for summary in found}
        return found

    def of(self, key: str, pods: Iterable[KubeObject]) -> list[PodSummary]:
        """Those that are known need not be made."""
        known = self._summaries.get(key, {})
        return [
            found
            if (found := known.get(pod.uid)) is not None and found.pod is pod
            else PodSummary.of(pod)
            for pod in pods
        ]

    def forget(self, key: str) -> None:
        self._summaries.pop(key, None)
