"""One pod of the process runtime: its state machine, and the tasks that carry it out.

Implements ``runtime.RunningPod``. ``run`` is the pod's task: take the steps of the state machine,
wait until something happens. It lasts until nothing of the pod runs and the object is gone.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Mapping

from proreus.aio.gate import Gate
from proreus.api.object import KubeObject
from proreus.client.event_recorder import NORMAL, WARNING
from proreus.cluster.kubelet.runtimes.pod_spec.certificate_requests import certificate_requests
from proreus.cluster.kubelet.runtimes.pod_spec.pod_spec import read_pod
from proreus.cluster.kubelet.runtimes.pod_spec.references import ConfigProblem, references_of
from proreus.cluster.kubelet.runtimes.pod_spec.token_requests import token_requests
from proreus.cluster.kubelet.runtimes.process.container_run import ContainerRun
from proreus.cluster.kubelet.runtimes.process.container_setup import (
    CommandMissing,
    ContainerSetup,
    MountProblem,
)
from proreus.cluster.kubelet.runtimes.process.host import Host
from proreus.cluster.kubelet.runtimes.process.log_files import LogWriter, prepare_log_folder
from proreus.cluster.kubelet.runtimes.process.probe_workers import RunContext
from proreus.cluster.kubelet.runtimes.process.restore import restore
from proreus.cluster.kubelet.runtimes.process.state_machine import ContainerStateMachine
from proreus.cluster.kubelet.runtimes.runtime import PodAddresses
from proreus.cluster.kubelet.runtimes.states import (
    CONFIG_ERROR,
    CRASH_LOOP,
    CREATING,
    NEVER_PULLED,
    PodReport,
    Waiting,
)
from proreus.cluster.untrusted_files import remove_tree

log = logging.getLogger(__name__)

_RETRY_S = 10.0
_REFRESH_S = 60.0


class ProcessPod:
    """``begin`` it by running ``run`` in the runtime's TaskGroup."""

    def __init__(self, host: Host, pod: KubeObject, addresses: PodAddresses, now: float) -> None:
        self.object = pod
        self.spec = read_pod(pod)
        self.machine = restore(self.spec, now)
        self._host = host
        self.addresses = addresses
        self._setup = ContainerSetup(host, addresses)
        self._runs: dict[str, ContainerRun] = {}
        self._wake = asyncio.Event()
        self._is_refresh_due = False
        self._refresh_at = float("inf")
        self._is_shutting_down = False
        self._over = Gate()
        self._gone = Gate()

    @property
    def runs(self) -> Mapping[str, ContainerRun]:
        """Of the containers that run now, or are about to."""
        return self._runs

    def update(self, pod: KubeObject) -> None:
        self.object = pod
        self.spec = read_pod(pod)
        self.machine.update(self.spec)
        by = self._host.clock.now() + self.spec.grace_s
        for spec in self.spec.all():
            machine, run = self.machine.container(spec.name), self._runs.get(spec.name)
            if machine is not None and machine.redefine(spec) and run is not None:
                run.stop(by, f"Container {spec.name} definition changed, will be restarted")
        self.refresh()  # labels and annotations may be files

    def stop(self, now: float, grace_s: float) -> None:
        self.machine.stop(now + grace_s)
        self._wake.set()

    def advance(self, now: float) -> None:
        """Its own task does."""

    def next_due(self, now: float) -> float | None:
        return None

    def report(self, now: float) -> PodReport:
        return self.machine.report()

    def remove(self) -> None:
        self.stop(self._host.clock.now(), self.spec.grace_s)
        self._gone.open()

    def shut_down(self, now: float, grace_s: float) -> None:
        """The kubelet ends, and its containers with it; no events, since they will be restarted."""
        self._is_shutting_down = True
        self.stop(now, grace_s)

    async def wait_over(self) -> None:
        """Until nothing of it runs."""
        await self._over.wait_open()

    def refresh(self) -> None:
        """Something that volumes are made of may have changed."""
        self._is_refresh_due = True
        self._wake.set()

    async def run(self) -> None:
        folder = self._host.pod_folder(self.spec.uid)
        try:
            async with asyncio.TaskGroup() as runs:
                while not self.machine.is_over:
                    await self._step(runs)
            self._host.objects.release(self.spec.uid)
            self._over.open()
            self._changed()
            await self._gone.wait_open()
            await asyncio.to_thread(remove_tree, folder.path)
        finally:
            self._host.objects.release(self.spec.uid)

    async def _step(self, runs: asyncio.TaskGroup) -> None:
        now = self._host.clock.now()
        self._wake.clear()
        if (self._is_refresh_due or now >= self._refresh_at) and not self.machine.is_stopping:
            await self._refresh(now)
        steps = self.machine.steps(now)
        by = self.machine.stop_deadline(now)
        for container in steps.stop:
            if (run := self._runs.get(container.spec.name)) is not None:
                run.stop(now if steps.is_abrupt else by, runs_hook=not steps.is_abrupt)
        if steps.start is not None:
            steps.start.begin()
            runs.create_task(
                self._run_container(steps.start), name=f"{self.spec.full_name} {steps.start}"
            )
        elif not self.machine.is_over:
            self._changed()
            await self._wait(min(steps.due or float("inf"), self._refresh_at))

    async def _wait(self, due: float) -> None:
        """Until ``due``, or something happens."""
        if due == float("inf"):
            await self._wake.wait()
            return
        clock = self._host.clock
        timer = clock.call_later(max(0.0, due - clock.now()), self._wake.set)
        try:
            await self._wake.wait()
        finally:
            timer.cancel()

    async def _run_container(self, container: ContainerStateMachine) -> None:
        """One run, from its setup to its end."""
        name = container.spec.name
        try:
            run = await self._prepare(container)
            if run is not None:
                self._runs[name] = run
                self._wake.set()  # it may have to stop before it began
                await run.run()
                self._record_back_off(container)
        except Exception:
            # A failure with one container must not end the others.
            log.exception("container failed: pod=%s container=%s", self.spec.full_name, name)
            retry_at = self._host.clock.now() + _RETRY_S
            container.refused("RunContainerError", "the kubelet failed, see its log", retry_at)
        finally:
            self._runs.pop(name, None)
            self._wake.set()

    async def _prepare(self, container: ContainerStateMachine) -> ContainerRun | None:
        """None: it cannot start, or need not any more."""
        spec, retry_at = container.spec, self._host.clock.now() + _RETRY_S
        try:
            self._host.objects.use(
                self.spec.uid, self.spec.namespace, references_of(self.spec), self.refresh
            )
            await self._setup.volumes(self.spec)
            command = await self._setup.command(self.spec, spec)
        except CommandMissing:
            text = (
                f'container "{spec.name}" names no command: '
                "the process runtime has no images, so it needs one"
            )
            self._record(WARNING, "Failed", f"Error: {text}")
            container.refused(NEVER_PULLED, text, None)
            return None
        except MountProblem as problem:
            self._record(WARNING, "FailedMount", str(problem))
            container.refused(CREATING, "", retry_at)
            return None
        except ConfigProblem as problem:
            self._record(WARNING, "Failed", f"Error: {problem}")
            container.refused(CONFIG_ERROR, str(problem), retry_at)
            return None
        if self.machine.is_stopping:
            container.refused(CREATING, "", None)
            return None
        if token_requests(self.spec) or certificate_requests(self.spec):
            self._refresh_at = self._host.clock.now() + _REFRESH_S
        text = f'Container image "{spec.image}" is not needed: its command is run on this machine'
        self._record(NORMAL, "Pulled", text)
        home = self._host.pod_folder(self.spec.uid).container(spec.name)
        number = container.next_restart
        await asyncio.to_thread(prepare_log_folder, home.logs, number)
        writer = LogWriter(home.logs / str(number), self._host.clock.now)
        identity = f"process://{secrets.token_hex(32)}"
        return ContainerRun(container, home, command, self._run_context(), identity, writer)

    def _run_context(self) -> RunContext:
        return RunContext(
            clock=self._host.clock,
            pod_ip=self.addresses.pod_ip,
            grace_s=self.spec.grace_s,
            record_event=self._record,
            changed=self._wake.set,
            sweep=self._host.sweep,
        )

    async def _refresh(self, now: float) -> None:
        self._is_refresh_due = False
        if self._refresh_at < float("inf"):
            self._refresh_at = now + _REFRESH_S
        for container in self.machine.all():
            container.retry(now)
        if not self._runs:
            return  # each start makes the volumes first
        try:
            await self._setup.volumes(self.spec)
        except ConfigProblem as problem:
            self._record(WARNING, "FailedMount", str(problem))

    def _record_back_off(self, container: ContainerStateMachine) -> None:
        state = container.state
        if isinstance(state, Waiting) and state.reason == CRASH_LOOP:
            pod = self.spec.full_name
            text = f"Back-off restarting failed container {container.spec.name} in pod {pod}"
            self._record(WARNING, "BackOff", text)

    def _record(self, kind: str, reason: str, message: str) -> None:
        if not self._is_shutting_down:
            self._host.recorder.event(self.object, kind, reason, message)

    def _changed(self) -> None:
        self._host.changed(self.object.key)

    def __repr__(self) -> str:
        return f"<ProcessPod {self.spec.full_name}, {self.machine.phase()}>"
