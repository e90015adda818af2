"""The simulated runtime: pods that live by their annotations, thousands in one process.

Everything follows from time, so it has no tasks; what happened between two looks becomes events.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager

from proreus.aio.clock import Clock
from proreus.api.object import KubeObject
from proreus.api.values.timestamp import format_time
from proreus.client.event_recorder import NORMAL, WARNING, EventRecorder
from proreus.cluster.kubelet.runtimes.container import Container
from proreus.cluster.kubelet.runtimes.plan import read_plan
from proreus.cluster.kubelet.runtimes.restarting import ALWAYS
from proreus.cluster.kubelet.runtimes.runtime import Changed, PodAddresses
from proreus.cluster.kubelet.runtimes.simulated import SimulatedPod, lets_pass
from proreus.cluster.kubelet.runtimes.states import (
    CRASH_LOOP,
    TERMINAL,
    ContainerReport,
    PodReport,
    Running,
    Terminated,
    Waiting,
    crash_loop_message,
)
from proreus.cluster.kubelet.runtimes.streams import (
    ContainerNotFound,
    Execution,
    LogOptions,
    NotStarted,
    PreviousNotFound,
    Unsupported,
)

_FOLLOW_S = 1.0


class SimulatedRuntime:
    """Implements ``runtime.Runtime`` and ``streams.Streams``."""

    def __init__(self, clock: Clock, recorder: EventRecorder) -> None:
        self._clock = clock
        self._recorder = recorder
        self._pods: dict[str, SimulatedPod] = {}

    @property
    def streams(self) -> SimulatedRuntime:
        return self

    @asynccontextmanager
    async def running(self, changed: Changed) -> AsyncIterator[None]:
        yield

    async def sweep(self, uids: Collection[str]) -> None:
        """Nothing of a simulated pod is left anywhere."""

    def begin(self, pod: KubeObject, addresses: PodAddresses, now: float) -> _Simulation:
        simulated = SimulatedPod(read_plan(pod), now, pod.get("status") or {})
        self._pods[pod.uid] = simulated
        return _Simulation(pod, simulated, self._recorder, self._pods)

    async def logs(self, pod_uid: str, container: str, options: LogOptions) -> AsyncIterator[bytes]:
        """A line when it started, and one when it ended."""
        found = self._container(pod_uid, container)
        shown = found.last if options.previous else found.state
        match shown:
            case None:
                raise PreviousNotFound(f'previous terminated container "{container}" not found')
            case Waiting():
                raise NotStarted(f'container "{container}" is waiting to start: {shown.reason}')
            case Running() | Terminated():
                for piece in _log(container, shown, options):
                    yield piece
        while options.follow and isinstance(shown, Running) and found.state == shown:
            await self._clock.sleep(_FOLLOW_S)
            if pod_uid not in self._pods:
                return

    async def execute(
        self, pod_uid: str, container: str, command: Sequence[str], *, stdin: bool, tty: bool
    ) -> Execution:
        raise Unsupported("a simulated container has no processes: there is nothing to exec in")

    async def attach(self, pod_uid: str, container: str, *, stdin: bool, tty: bool) -> Execution:
        raise Unsupported("a simulated container has no processes: there is nothing to attach to")

    async def connect(
        self, pod_uid: str, port: int
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        raise Unsupported("a simulated pod has no ports: there is nothing to connect to")

    def _container(self, pod_uid: str, name: str) -> Container:
        pod = self._pods.get(pod_uid)
        for container in (*pod.init, *pod.containers) if pod else ():
            if container.plan.name == name:
                return container
        raise ContainerNotFound(f'container "{name}" not found')


def _log(name: str, state: Running | Terminated, options: LogOptions) -> list[bytes]:
    """Pure."""
    lines = [(state.started_at, f"simulated container {name} started\n")]
    if isinstance(state, Terminated):
        text = f"simulated container {name} exited with code {state.exit_code}\n"
        lines.append((state.finished_at, text))
    if options.since is not None:
        lines = [(at, text) for at, text in lines if at >= options.since]
    if options.tail_lines is not None:
        lines = lines[len(lines) - min(options.tail_lines, len(lines)) :]
    if options.stream == "Stderr":
        lines = []
    whole = "".join(
        f"{format_time(at)} {text}" if options.timestamps else text for at, text in lines
    ).encode()
    return [whole[: options.limit_bytes]]


class _Simulation:
    """Implements ``runtime.RunningPod``: a simulated pod, and the events of its life."""

    def __init__(
        self,
        pod: KubeObject,
        simulated: SimulatedPod,
        recorder: EventRecorder,
        known: dict[str, SimulatedPod],
    ) -> None:
        self._pod = pod
        self._simulated = simulated
        self._recorder = recorder
        self._known = known
        self._is_being_ended = False

    def update(self, pod: KubeObject) -> None:
        self._pod = pod
        self._simulated.update(read_plan(pod))

    def stop(self, now: float, grace_s: float) -> None:
        self._simulated.stop(now, grace_s)
        if self._is_being_ended:
            return
        self._is_being_ended = True
        for container in self._simulated.containers:
            if isinstance(container.state, Running):
                said = f"Stopping container {container.plan.name}"
                self._recorder.event(self._pod, NORMAL, "Killing", said)

    def advance(self, now: float) -> None:
        before = _started(self._simulated)
        self._simulated.advance(now)
        self._say_started(before)

    def next_due(self, now: float) -> float | None:
        return self._simulated.next_due(now)

    def report(self, now: float) -> PodReport:
        return report(self._pod, self._simulated, now)

    def remove(self) -> None:
        self._known.pop(self._pod.uid, None)

    def _say_started(self, before: Mapping[str, float | None]) -> None:
        for container in (*self._simulated.init, *self._simulated.containers):
            name, state = container.plan.name, container.state
            if isinstance(state, Running) and before[name] != state.started_at:
                self._recorder.event(self._pod, NORMAL, "Started", f"Container started: {name}")
            elif isinstance(state, Waiting) and state.reason == CRASH_LOOP and before[name]:
                said = f"Back-off restarting failed container {name} in pod {self._pod.name}"
                self._recorder.event(self._pod, WARNING, "BackOff", said)


def report(pod: KubeObject, simulated: SimulatedPod, now: float) -> PodReport:
    """Pure."""
    # Nothing of a pod that is over is ready, however it stood before.
    moment = float("-inf") if simulated.phase in TERMINAL else now
    return PodReport(
        phase=simulated.phase,
        begun=simulated.begun,
        init=[_reported(pod, c, moment, is_init=True) for c in simulated.init],
        containers=[_reported(pod, c, moment) for c in simulated.containers],
    )


def _reported(
    pod: KubeObject, container: Container, moment: float, *, is_init: bool = False
) -> ContainerReport:
    plan, state = container.plan, container.state
    identity = f"simulated://{pod.uid}-{plan.name}"
    has_run = container.last is not None or not isinstance(state, Waiting)
    if isinstance(state, Waiting) and state.reason == CRASH_LOOP:
        owner = f"{pod.name}_{pod.namespace}({pod.uid})"
        said = crash_loop_message(container.backoff_s, plan.name, owner)
        state = Waiting(state.reason, state.until, said)
    is_done_with = is_init and container.has_succeeded and plan.restart_policy != ALWAYS
    return ContainerReport(
        name=plan.name,
        image=plan.image,
        image_id=f"simulated://{plan.image}" if has_run else "",
        container_id=f"{identity}-{container.restarts}" if has_run else "",
        state=state,
        last=container.last,
        restarts=container.restarts,
        is_ready=container.is_ready(moment) or is_done_with,
        is_started=isinstance(container.state, Running),
        lets_pass=lets_pass(container),
    )


def _started(simulated: SimulatedPod) -> dict[str, float | None]:
    """Since when each container runs."""
    return {
        c.plan.name: c.state.started_at if isinstance(c.state, Running) else None
        for c in (*simulated.init, *simulated.containers)
    }
