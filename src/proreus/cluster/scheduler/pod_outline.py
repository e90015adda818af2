"""What of a pod decides whether an event concerns the scheduler, read without decoding the rest.

A pod is decoded whole once, when it is placed; of its other states only this is read. Cost: 5 µs
for a pod of 2 kB, a fifth of decoding it.
"""

from __future__ import annotations

import msgspec

from proreus.api.object import KubeObject
from proreus.api.wire import json
from proreus.cluster.pod_status import FINISHED

DEFAULT_SCHEDULER = "default-scheduler"


class _Metadata(msgspec.Struct, gc=False):
    deletionTimestamp: str | None = None


class _Status(msgspec.Struct, gc=False):
    phase: str | None = None
    nominatedNodeName: str | None = None


class _Content(msgspec.Struct, gc=False):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)
    spec: msgspec.Raw = msgspec.Raw(b"{}")
    status: _Status = msgspec.field(default_factory=_Status)


class _Spec(msgspec.Struct, gc=False):
    nodeName: str | None = None
    schedulerName: str | None = None
    priority: int | None = None
    schedulingGates: list[msgspec.Raw] | None = None


_decode = msgspec.json.Decoder(_Content).decode
_decode_spec = msgspec.json.Decoder(_Spec).decode


class PodOutline:
    __slots__ = ("_spec", "is_deleting", "is_finished", "nominated_node")

    def __init__(self, pod: KubeObject) -> None:
        content = _decode(pod.raw)
        self._spec = content.spec
        self.is_deleting = bool(content.metadata.deletionTimestamp)
        self.is_finished = content.status.phase in FINISHED
        self.nominated_node = content.status.nominatedNodeName or ""

    def spec(self) -> _Spec:
        return _decode_spec(self._spec)

    def wants_scheduling(self, scheduler_name: str) -> bool:
        """Whether it waits for this scheduler: not placed, not going, not held back by gates."""
        if self.is_deleting or self.is_finished:
            return False
        spec = self.spec()
        return (
            not spec.nodeName
            and (spec.schedulerName or DEFAULT_SCHEDULER) == scheduler_name
            and not spec.schedulingGates
        )

    def is_only_bound(self, before: PodOutline, node: str) -> bool:
        """Whether all that happened to its spec since is that it names ``node``."""
        named = b'"nodeName":' + json.encode(node)
        spec, old = bytes(self._spec), bytes(before._spec)
        return old in (spec.replace(named + b",", b"", 1), spec.replace(b"," + named, b"", 1))

    def __eq__(self, other: object) -> bool:
        """Whether the two are the same to a scheduler, but for labels. Specs are compared as they
        are written: a server that wrote one otherwise only causes a look that was not needed."""
        return (
            isinstance(other, PodOutline)
            and self.is_deleting == other.is_deleting
            and self.is_finished == other.is_finished
            and memoryview(self._spec) == memoryview(other._spec)
        )

    __hash__ = None  # type: ignore[assignment]  # compared only
