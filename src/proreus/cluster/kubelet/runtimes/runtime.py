"""The interface of a container runtime: start pods, report their state, stop them.

A runtime with tasks of its own reports changes through ``changed``; one that depends on time alone
returns when it is due next.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol

from proreus.api.object import KubeObject
from proreus.cluster.kubelet.runtimes.states import PodReport
from proreus.cluster.kubelet.runtimes.streams import Streams

Changed = Callable[[str], None]
"""Called with a pod's key when there is something to report."""


@dataclass(frozen=True, slots=True)
class PodAddresses:
    pod_ip: str
    host_ip: str


class RunningPod(Protocol):
    """One pod that a runtime runs. ``now`` is wall-clock time."""

    def update(self, pod: KubeObject) -> None:
        """The object changed."""

    def stop(self, now: float, grace_s: float) -> None:
        """End everything within ``grace_s``. A further call can only shorten the time."""

    def advance(self, now: float) -> None:
        """Do what is due."""

    def next_due(self, now: float) -> float | None:
        """When to call ``advance`` again, None: not before something happens."""

    def report(self, now: float) -> PodReport: ...

    def remove(self) -> None:
        """The pod was deleted: end what still runs, and forget it."""


class Runtime(Protocol):
    """``running`` is entered once, before the first ``begin``."""

    @property
    def streams(self) -> Streams: ...

    def running(self, changed: Changed) -> AbstractAsyncContextManager[None]: ...

    async def sweep(self, uids: Collection[str]) -> None:
        """Remove what is left of pods other than these."""

    def begin(self, pod: KubeObject, addresses: PodAddresses, now: float) -> RunningPod:
        """Start a pod, or resume it from the state in its status."""
