"""What every pod of this kubelet shares."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from proreus.aio.clock import Clock
from proreus.client import Client
from proreus.client.event_recorder import EventRecorder
from proreus.cluster.kubelet.runtimes.process.folders import PodFolder
from proreus.cluster.kubelet.runtimes.process.orphaned_processes import ProcessSweep
from proreus.cluster.kubelet.runtimes.watched_objects import WatchedObjects


@dataclass(frozen=True, slots=True)
class Host:
    """``given`` is the environment that containers start from; ``changed`` takes a pod's key;
    ``marks`` has one for each start of a container."""

    client: Client
    clock: Clock
    recorder: EventRecorder
    objects: WatchedObjects
    folder: Path
    capacity: Mapping[str, str]
    given: Mapping[str, str]
    changed: Callable[[str], None]
    sweep: ProcessSweep
    marks: Iterator[int]

    def pod_folder(self, uid: str) -> PodFolder:
        return PodFolder(self.folder / "pods" / uid)
