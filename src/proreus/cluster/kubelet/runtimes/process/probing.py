"""The probes of one life of a container, asked on time, and what follows from their verdicts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from proreus.aio.clock import Clock
from proreus.aio.gate import Gate
from proreus.client.event_recorder import WARNING
from proreus.cluster.kubelet.runtimes.process.asking import Target, ask, is_supported
from proreus.cluster.kubelet.runtimes.process.course import ContainerCourse
from proreus.cluster.kubelet.runtimes.process.leftovers import Sweep
from proreus.cluster.kubelet.runtimes.process.probes import Probe, ProbeSpec, read_probes


@dataclass(frozen=True, slots=True)
class LifeSetting:
    """``say`` records an event of the pod (type, reason, message); ``changed`` wakes it up."""

    clock: Clock
    pod_ip: str
    grace_s: float
    say: Callable[[str, str, str], None]
    changed: Callable[[], None]
    sweep: Sweep


class Probing:
    """``run`` until cancelled, from the moment that the container runs. ``kill`` is told the grace
    and the reason when a probe has given the container up."""

    def __init__(
        self,
        course: ContainerCourse,
        target: Target,
        setting: LifeSetting,
        kill: Callable[[float, str], None],
    ) -> None:
        self._course = course
        self._target = target
        self._set = setting
        self._kill = kill
        self._specs = [s for s in read_probes(course.spec.content) if self._can_ask(s)]
        self._kinds = {spec.kind for spec in self._specs}
        self._has_started = Gate()

    async def run(self) -> None:
        now = self._set.clock.now()
        if "startup" not in self._kinds:
            self._started()
            self._set.changed()
        async with asyncio.TaskGroup() as group:
            for spec in self._specs:
                group.create_task(self._keep_asking(Probe(spec, now)))

    def _can_ask(self, spec: ProbeSpec) -> bool:
        if is_supported(spec.content):
            return True
        kind = spec.kind.capitalize()
        said = f"{kind} probe is never asked: the process runtime knows exec, httpGet, tcpSocket"
        self._set.say(WARNING, "ProbeWarning", said)
        return False

    async def _keep_asking(self, probe: Probe) -> None:
        spec, clock = probe.spec, self._set.clock
        if spec.kind != "startup":
            await self._has_started.wait_open()
        while not probe.is_over:
            await clock.sleep(max(0.0, probe.next_at - clock.now()))
            answer = await ask(spec.content, self._target, spec.timeout_s)
            if not answer.is_success:
                said = f"{spec.kind.capitalize()} probe failed: {answer.text}"
                self._set.say(WARNING, "Unhealthy", said)
            if probe.answered(answer.is_success, clock.now()):
                self._judge(probe)
                self._set.changed()

    def _judge(self, probe: Probe) -> None:
        match probe.spec.kind:
            case "readiness":
                self._course.is_ready = probe.is_good
            case "startup" if probe.is_good:
                self._started()
            case "startup" | "liveness":
                own_s = probe.spec.grace_s
                grace_s = self._set.grace_s if own_s is None else own_s
                name, kind = self._course.spec.name, probe.spec.kind
                self._kill(grace_s, f"Container {name} failed {kind} probe, will be restarted")

    def _started(self) -> None:
        self._course.set_started()
        self._course.is_ready = "readiness" not in self._kinds
        self._has_started.open()
