"""The process runtime: one node, this machine, and its pods as process groups.

Implements ``kubelet.runtimes.runtime.Runtime``. One kubelet at a time owns the folder. Whoever
opens it ends the processes that an earlier one left: nothing ever runs twice. Whoever leaves it in
good order ends its own, with grace; those of one that is killed end at once (``processes``,
``guard``), and what even that missed is found by the next (``leftovers``).
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from collections.abc import AsyncIterator, Collection, Mapping
from pathlib import Path
from urllib.parse import urlsplit

from proreus.aio.clock import Clock, deadline
from proreus.api.object import KubeObject
from proreus.client import Client
from proreus.client.event_recorder import EventRecorder
from proreus.cluster.kubelet.runtimes.pod_spec.environment import inherited
from proreus.cluster.kubelet.runtimes.process.folders import prepare_private
from proreus.cluster.kubelet.runtimes.process.guard import kill_below
from proreus.cluster.kubelet.runtimes.process.guard_process import guarded
from proreus.cluster.kubelet.runtimes.process.host import Host
from proreus.cluster.kubelet.runtimes.process.marks import marks, owner_of
from proreus.cluster.kubelet.runtimes.process.orphaned_processes import (
    GroupRecord,
    ProcessSweep,
    kill_group,
)
from proreus.cluster.kubelet.runtimes.process.pod import ProcessPod
from proreus.cluster.kubelet.runtimes.process.streaming import ProcessStreams
from proreus.cluster.kubelet.runtimes.runtime import Changed, PodAddresses
from proreus.cluster.kubelet.runtimes.watched_objects import WatchedObjects
from proreus.cluster.untrusted_files import forget_record, remove_tree

log = logging.getLogger(__name__)

SHUTDOWN_GRACE_S = 10.0
_LAST_MOMENT_S = 5.0


class ProcessRuntime:
    """``folder`` is the node's own; ``capacity`` what the downward API reports."""

    def __init__(
        self,
        client: Client,
        clock: Clock,
        recorder: EventRecorder,
        folder: Path,
        capacity: Mapping[str, str],
    ) -> None:
        self._client = client
        self._clock = clock
        self._recorder = recorder
        self._folder = folder.absolute()
        self._capacity = capacity
        self._pods: dict[str, ProcessPod] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._streams = ProcessStreams(self._pods, self._folder, clock)
        self._host: Host | None = None
        self._group: asyncio.TaskGroup | None = None

    @property
    def streams(self) -> ProcessStreams:
        return self._streams

    @contextlib.asynccontextmanager
    async def running(self, changed: Changed) -> AsyncIterator[None]:
        """Raises ``FolderInUse``."""
        prepare_private([self._folder, self._folder / "pods"])
        async with guarded(self._folder, self._clock):
            if killed := await asyncio.to_thread(self._kill_orphans):
                log.warning("ended what an earlier kubelet left running: processes=%d", killed)
            async with asyncio.TaskGroup() as group:
                self._group = group
                self._host = self._hosting(
                    WatchedObjects(self._client, self._clock, group), changed
                )
                try:
                    yield
                finally:
                    await self._end_pods()

    def begin(self, pod: KubeObject, addresses: PodAddresses, now: float) -> ProcessPod:
        assert self._host is not None and self._group is not None, "not running"
        begun = ProcessPod(self._host, pod, addresses, now)
        self._pods[pod.uid] = begun
        task = self._group.create_task(self._run(begun), name=f"pod {pod.key}")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return begun

    async def sweep(self, uids: Collection[str]) -> None:
        """Remove what is left of pods that are no more; ``uids`` are those that exist."""
        for folder in await asyncio.to_thread(self._pod_folders):
            if folder.name not in uids and folder.name not in self._pods:
                await asyncio.to_thread(remove_tree, folder)

    async def _run(self, pod: ProcessPod) -> None:
        try:
            await pod.run()
        finally:
            self._pods.pop(pod.spec.uid, None)

    def _hosting(self, objects: WatchedObjects, changed: Changed) -> Host:
        return Host(
            client=self._client,
            clock=self._clock,
            recorder=self._recorder,
            objects=objects,
            folder=self._folder,
            capacity=self._capacity,
            given={**inherited(os.environ), **_server_variables(self._client.config.host)},
            changed=changed,
            sweep=ProcessSweep(),
            marks=marks(owner_of(self._folder)),
        )

    async def _end_pods(self) -> None:
        """All of them, with grace, within a bound; the last ones by force."""
        now, pods = self._clock.now(), list(self._pods.values())
        for pod in pods:
            pod.shut_down(now, min(pod.spec.grace_s, SHUTDOWN_GRACE_S))
        with contextlib.suppress(TimeoutError):
            async with deadline(self._clock, SHUTDOWN_GRACE_S + _LAST_MOMENT_S):
                for pod in pods:
                    await pod.wait_over()
        for task in self._tasks:
            task.cancel()
        assert self._host is not None, "it runs"
        self._host.objects.close()

    def _kill_orphans(self) -> int:
        killed = 0
        for record in self._folder.glob("pods/*/containers/*/process.json"):
            found = GroupRecord.read(record)
            killed += kill_group(found) if found is not None else 0
            forget_record(record)
        return killed + kill_below(str(self._folder / "pods"), owner_of(self._folder))

    def _pod_folders(self) -> list[Path]:
        return [entry for entry in (self._folder / "pods").iterdir() if entry.is_dir()]

    def __repr__(self) -> str:
        return f"<ProcessRuntime in {self._folder}, {len(self._pods)} pods>"


def _server_variables(url: str) -> dict[str, str]:
    """Where the API server is, for programs that look for it as pods do."""
    parts = urlsplit(url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    return {"KUBERNETES_SERVICE_HOST": parts.hostname or "", "KUBERNETES_SERVICE_PORT": str(port)}
