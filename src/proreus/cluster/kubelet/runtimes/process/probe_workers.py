"""Runs the probes of one run of a container, and applies their results."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from proreus.aio.clock import Clock
from proreus.aio.gate import Gate
from proreus.client.event_recorder import WARNING
from proreus.cluster.kubelet.runtimes.pod_spec.probes import (
    Probe,
    expanded_handler,
    read_probes,
)
from proreus.cluster.kubelet.runtimes.process.handlers import HandlerTarget, call_handler
from proreus.cluster.kubelet.runtimes.process.orphaned_processes import ProcessSweep
from proreus.cluster.kubelet.runtimes.process.state_machine import ContainerStateMachine


@dataclass(frozen=True, slots=True)
class RunContext:
    """``record_event``: type, reason, message. ``changed`` wakes the pod up."""

    clock: Clock
    pod_ip: str
    grace_s: float
    record_event: Callable[[str, str, str], None]
    changed: Callable[[], None]
    sweep: ProcessSweep


class ProbeWorkers:
    """``run`` until cancelled, from the moment that the container runs. ``kill`` gets the grace
    and the reason when a probe has given the container up."""

    def __init__(
        self,
        machine: ContainerStateMachine,
        target: HandlerTarget,
        context: RunContext,
        kill: Callable[[float, str], None],
    ) -> None:
        self._machine = machine
        self._target = target
        self._context = context
        self._kill = kill
        self._specs = read_probes(machine.spec.content)
        self._kinds = {spec.kind for spec in self._specs}
        self._has_started = Gate()

    async def run(self) -> None:
        now = self._context.clock.now()
        if "startup" not in self._kinds:
            self._started()
            self._context.changed()
        async with asyncio.TaskGroup() as group:
            for spec in self._specs:
                group.create_task(self._probe_periodically(Probe(spec, now)))

    async def _probe_periodically(self, probe: Probe) -> None:
        spec, clock = probe.spec, self._context.clock
        handler = expanded_handler(spec.content, self._machine.spec.content)
        if spec.kind != "startup":
            await self._has_started.wait_open()
        while not probe.is_over:
            await clock.sleep(max(0.0, probe.next_at - clock.now()))
            answer = await call_handler(handler, self._target, spec.timeout_s)
            if not answer.is_success:
                said = f"{spec.kind.capitalize()} probe failed: {answer.text}"
                self._context.record_event(WARNING, "Unhealthy", said)
            if probe.answered(answer.is_success, clock.now()):
                self._apply_result(probe)
                self._context.changed()

    def _apply_result(self, probe: Probe) -> None:
        match probe.spec.kind:
            case "readiness":
                self._machine.is_ready = probe.is_good
            case "startup" if probe.is_good:
                self._started()
            case "startup" | "liveness":
                own_s = probe.spec.grace_s
                grace_s = self._context.grace_s if own_s is None else own_s
                name, kind = self._machine.spec.name, probe.spec.kind
                self._kill(grace_s, f"Container {name} failed {kind} probe, will be restarted")

    def _started(self) -> None:
        self._machine.set_started()
        self._machine.is_ready = "readiness" not in self._kinds
        self._has_started.open()
