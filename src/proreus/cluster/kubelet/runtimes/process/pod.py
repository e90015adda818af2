"""One pod in this runtime's hands: its course, and the tasks that follow it.

Implements ``runtime.RunningPod``. ``run`` is the pod's task: ask the course what to do, do it, wait
until something happens. It lasts until nothing of the pod runs and the object is gone.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import shutil
from collections.abc import Mapping

from proreus.aio.gate import Gate
from proreus.api.object import KubeObject
from proreus.client.event_recorder import NORMAL, WARNING
from proreus.cluster.kubelet.runtimes.process.course import ContainerCourse
from proreus.cluster.kubelet.runtimes.process.described import read_pod, refusal
from proreus.cluster.kubelet.runtimes.process.host import Host
from proreus.cluster.kubelet.runtimes.process.life import Life
from proreus.cluster.kubelet.runtimes.process.log_files import open_log
from proreus.cluster.kubelet.runtimes.process.preparing import (
    MountProblem,
    NoCommand,
    Preparing,
)
from proreus.cluster.kubelet.runtimes.process.probing import LifeSetting
from proreus.cluster.kubelet.runtimes.process.references import ConfigProblem, references_of
from proreus.cluster.kubelet.runtimes.process.restored import restore
from proreus.cluster.kubelet.runtimes.process.volumes import token_requests
from proreus.cluster.kubelet.runtimes.runtime import PodAddresses
from proreus.cluster.kubelet.runtimes.states import CRASH_LOOP, CREATING, PodReport, Waiting

log = logging.getLogger(__name__)

CONFIG_ERROR = "CreateContainerConfigError"
NO_IMAGES = "ErrImageNeverPull"
_RETRY_S = 10.0
_REFRESH_S = 60.0


class ProcessPod:
    """``begin`` it by running ``run`` in the runtime's TaskGroup."""

    def __init__(self, host: Host, pod: KubeObject, addresses: PodAddresses, now: float) -> None:
        self.object = pod
        self.spec = read_pod(pod)
        self.course = restore(self.spec, now)
        self._host = host
        self.addresses = addresses
        self._preparing = Preparing(host, addresses)
        self._lives: dict[str, Life] = {}
        self._wake = asyncio.Event()
        self._is_refresh_due = False
        self._refresh_at = float("inf")
        self._is_left = False
        self._over = Gate()
        self._gone = Gate()
        if (why := refusal(self.spec)) is not None:
            self.course.stop(now, *why)

    @property
    def lives(self) -> Mapping[str, Life]:
        """Of the containers that run now, or are about to."""
        return self._lives

    def update(self, pod: KubeObject) -> None:
        self.object = pod
        self.spec = self.course.pod = read_pod(pod)
        by = self._host.clock.now() + self.spec.grace_s
        for spec in self.spec.all():
            course, life = self.course.container(spec.name), self._lives.get(spec.name)
            if course is not None and course.redefine(spec) and life is not None:
                life.stop(by, f"Container {spec.name} definition changed, will be restarted")
        self.refresh()  # labels and annotations may be files

    def stop(self, now: float, grace_s: float) -> None:
        self.course.stop(now + grace_s)
        self._wake.set()

    def advance(self, now: float) -> None:
        """Its own task does."""

    def next_due(self, now: float) -> float | None:
        return None

    def report(self, now: float) -> PodReport:
        return self.course.report()

    def remove(self) -> None:
        self.stop(self._host.clock.now(), self.spec.grace_s)
        self._gone.open()

    def leave(self, now: float, grace_s: float) -> None:
        """The kubelet ends, and its containers with it; nobody is told, since they will be back."""
        self._is_left = True
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
            async with asyncio.TaskGroup() as lives:
                while not self.course.is_over:
                    await self._step(lives)
            self._host.objects.release(self.spec.uid)
            self._over.open()
            self._changed()
            await self._gone.wait_open()
            await asyncio.to_thread(shutil.rmtree, folder.path, ignore_errors=True)
        finally:
            self._host.objects.release(self.spec.uid)

    async def _step(self, lives: asyncio.TaskGroup) -> None:
        now = self._host.clock.now()
        self._wake.clear()
        if (self._is_refresh_due or now >= self._refresh_at) and not self.course.is_stopping:
            await self._refresh(now)
        steps = self.course.steps(now)
        by = self.course.stop_deadline(now)
        for container in steps.stop:
            if (life := self._lives.get(container.spec.name)) is not None:
                life.stop(by)
        if steps.start is not None:
            steps.start.begin()
            lives.create_task(self._live(steps.start), name=f"{self.spec.full_name} {steps.start}")
        elif not self.course.is_over:
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

    async def _live(self, container: ContainerCourse) -> None:
        """One life, from preparing it to its end."""
        name = container.spec.name
        try:
            life = await self._prepared(container)
            if life is not None:
                self._lives[name] = life
                self._wake.set()  # it may have to stop before it began
                await life.run()
                self._say_back_off(container)
        except Exception:
            # One container's misfortune, ours included, is not to end the others'.
            log.exception("container failed: pod=%s container=%s", self.spec.full_name, name)
            retry_at = self._host.clock.now() + _RETRY_S
            container.refused("RunContainerError", "the kubelet failed, see its log", retry_at)
        finally:
            self._lives.pop(name, None)
            self._wake.set()

    async def _prepared(self, container: ContainerCourse) -> Life | None:
        """None: it cannot start, or need not any more."""
        spec, retry_at = container.spec, self._host.clock.now() + _RETRY_S
        try:
            self._host.objects.use(
                self.spec.uid, self.spec.namespace, references_of(self.spec), self.refresh
            )
            await self._preparing.volumes(self.spec)
            command = await self._preparing.command(self.spec, spec)
        except NoCommand:
            text = (
                f'container "{spec.name}" names no command: '
                "the process runtime has no images, so it needs one"
            )
            self._say(WARNING, "Failed", f"Error: {text}")
            container.refused(NO_IMAGES, text, None)
            return None
        except MountProblem as problem:
            self._say(WARNING, "FailedMount", str(problem))
            container.refused(CREATING, "", retry_at)
            return None
        except ConfigProblem as problem:
            self._say(WARNING, "Failed", f"Error: {problem}")
            container.refused(CONFIG_ERROR, str(problem), retry_at)
            return None
        if self.course.is_stopping:
            container.refused(CREATING, "", None)
            return None
        if token_requests(self.spec):
            self._refresh_at = self._host.clock.now() + _REFRESH_S
        text = f'Container image "{spec.image}" is not needed: its command is run on this machine'
        self._say(NORMAL, "Pulled", text)
        home = self._host.pod_folder(self.spec.uid).container(spec.name)
        writer = open_log(home.logs, container.next_restart, self._host.clock.now)
        identity = f"process://{secrets.token_hex(32)}"
        return Life(container, home, command, self._setting(), identity, writer)

    def _setting(self) -> LifeSetting:
        return LifeSetting(
            clock=self._host.clock,
            pod_ip=self.addresses.pod_ip,
            grace_s=self.spec.grace_s,
            say=self._say,
            changed=self._wake.set,
            sweep=self._host.sweep,
        )

    async def _refresh(self, now: float) -> None:
        self._is_refresh_due = False
        if self._refresh_at < float("inf"):
            self._refresh_at = now + _REFRESH_S
        for container in self.course.all():
            container.retry(now)
        if not self._lives:
            return  # whoever starts makes the volumes first
        try:
            await self._preparing.volumes(self.spec)
        except ConfigProblem as problem:
            self._say(WARNING, "FailedMount", str(problem))

    def _say_back_off(self, container: ContainerCourse) -> None:
        state = container.state
        if isinstance(state, Waiting) and state.reason == CRASH_LOOP:
            pod = self.spec.full_name
            text = f"Back-off restarting failed container {container.spec.name} in pod {pod}"
            self._say(WARNING, "BackOff", text)

    def _say(self, kind: str, reason: str, message: str) -> None:
        if not self._is_left:
            self._host.recorder.event(self.object, kind, reason, message)

    def _changed(self) -> None:
        self._host.changed(self.object.key)

    def __repr__(self) -> str:
        return f"<ProcessPod {self.spec.full_name}, {self.course.phase()}>"
