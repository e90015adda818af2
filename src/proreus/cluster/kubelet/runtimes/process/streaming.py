"""Logs, commands, attachments and connections of process pods. Implements ``streams.Streams``.

Logs are read from disk, also those of pods that were over before this kubelet began.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from proreus.aio.clock import Clock, deadline
from proreus.cluster.kubelet.runtimes.process.container_run import ContainerRun
from proreus.cluster.kubelet.runtimes.process.executions import Attachment, CommandExecution
from proreus.cluster.kubelet.runtimes.process.folders import ContainerFolder, PodFolder
from proreus.cluster.kubelet.runtimes.process.log_files import starts
from proreus.cluster.kubelet.runtimes.process.log_reading import read_log
from proreus.cluster.kubelet.runtimes.process.pod import ProcessPod
from proreus.cluster.kubelet.runtimes.process.processes import CannotExecute, spawn
from proreus.cluster.kubelet.runtimes.states import Waiting
from proreus.cluster.kubelet.runtimes.streams import (
    ContainerNotFound,
    Execution,
    LogOptions,
    NotStarted,
    PortRefused,
    PreviousNotFound,
    StreamError,
)

_CONNECT_S = 10.0
_HERE = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class ProcessStreams:
    """``pods`` by uid; ``folder`` holds theirs."""

    pods: Mapping[str, ProcessPod]
    folder: Path
    clock: Clock

    async def logs(self, pod_uid: str, container: str, options: LogOptions) -> AsyncIterator[bytes]:
        home = self._container_folder(pod_uid, container)
        found = starts(home.logs)
        if not found:
            why = self._why(pod_uid, container)
            raise NotStarted(f'container "{container}" is waiting to start: {why}')
        pod = self.pods.get(pod_uid)
        run = pod.runs.get(container) if pod is not None else None
        # A container that waits to be restarted shows its last life, whichever is asked for.
        number = found[-1]
        if options.previous and not self._is_waiting(pod, container):
            if len(found) < 2:
                said = f'previous terminated container "{container}" not found'
                raise PreviousNotFound(said)
            number = found[-2]
        writer = run.log if run is not None and number == found[-1] else None
        async for piece in read_log(home.logs / str(number), options, writer):
            yield piece

    async def execute(
        self, pod_uid: str, container: str, command: Sequence[str], *, stdin: bool, tty: bool
    ) -> Execution:
        run = self._running(pod_uid, container)
        wanted = run.command(command, **({"TERM": "xterm"} if tty else {}))
        try:
            return CommandExecution(spawn(wanted, stdin=stdin, tty=tty), self.clock)
        except CannotExecute as failure:
            raise StreamError(str(failure)) from failure

    async def attach(self, pod_uid: str, container: str, *, stdin: bool, tty: bool) -> Execution:
        run = self._running(pod_uid, container)
        assert run.process is not None, "a running container has a process"
        return Attachment(run, run.process, stdin=stdin)

    async def connect(
        self, pod_uid: str, port: int
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """To the pod's own address, else to the machine's: many programs listen only there."""
        pod = self.pods.get(pod_uid)
        if pod is None:
            raise ContainerNotFound(f"pod {pod_uid} not found")
        for host in (pod.addresses.pod_ip, _HERE):
            try:
                async with deadline(self.clock, _CONNECT_S):
                    return await asyncio.open_connection(host, port)
            except (OSError, TimeoutError):
                continue
        raise PortRefused(f"failed to connect to localhost:{port}: connection refused")

    def _container_folder(self, pod_uid: str, container: str) -> ContainerFolder:
        pod = self.pods.get(pod_uid)
        home = PodFolder(self.folder / "pods" / pod_uid).container(container)
        is_known = pod is not None and pod.machine.container(container) is not None
        if not is_known and not home.path.is_dir():
            raise ContainerNotFound(f'container "{container}" not found')
        return home

    def _running(self, pod_uid: str, container: str) -> ContainerRun:
        pod = self.pods.get(pod_uid)
        run = pod.runs.get(container) if pod is not None else None
        if run is None or run.process is None or run.process.exit_code is not None:
            if pod is None or pod.machine.container(container) is None:
                raise ContainerNotFound(f'container "{container}" not found')
            raise NotStarted(f'container "{container}" is not running')
        return run

    def _is_waiting(self, pod: ProcessPod | None, container: str) -> bool:
        machine = pod.machine.container(container) if pod is not None else None
        return machine is not None and isinstance(machine.state, Waiting) and machine.has_run

    def _why(self, pod_uid: str, container: str) -> str:
        pod = self.pods.get(pod_uid)
        machine = pod.machine.container(container) if pod is not None else None
        return machine.state.reason if machine and isinstance(machine.state, Waiting) else "unknown"
