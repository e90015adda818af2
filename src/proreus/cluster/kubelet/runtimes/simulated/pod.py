"""One simulated pod in the runtime: the objects it waits for, and its events."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from proreus.api.object import KubeObject, plain_field
from proreus.client.event_recorder import NORMAL, WARNING, EventRecorder
from proreus.cluster.kubelet.runtimes.clock_skew import without_future_times
from proreus.cluster.kubelet.runtimes.pod_spec.certificate_requests import certificate_requests
from proreus.cluster.kubelet.runtimes.pod_spec.environment import ValueSources
from proreus.cluster.kubelet.runtimes.pod_spec.pod_spec import read_pod
from proreus.cluster.kubelet.runtimes.restart_policy import ALWAYS
from proreus.cluster.kubelet.runtimes.runtime import PodAddresses
from proreus.cluster.kubelet.runtimes.simulated.awaited_volumes import AwaitedVolumes
from proreus.cluster.kubelet.runtimes.simulated.container import Container, image_not_found
from proreus.cluster.kubelet.runtimes.simulated.plan import FailedProbe, PodPlan, read_plan
from proreus.cluster.kubelet.runtimes.simulated.requirements import (
    Missing,
    environments_of,
    requirements_of,
)
from proreus.cluster.kubelet.runtimes.simulated.services import PodServices
from proreus.cluster.kubelet.runtimes.simulated.state import (
    SimulatedPod,
    StartBlockers,
    allows_next,
)
from proreus.cluster.kubelet.runtimes.states import (
    CONFIG_ERROR,
    CRASH_LOOP,
    DEADLINE_EXCEEDED,
    DEADLINE_TEXT,
    NEVER_PULLED,
    PULL_BACKOFF,
    PULL_FAILED,
    TERMINAL,
    ContainerReport,
    PodReport,
    Running,
    Waiting,
    crash_loop_message,
)
from proreus.cluster.kubelet.runtimes.watched_objects import WatchedObjects

_INVALID = "InvalidAnnotation"


@dataclass(slots=True)
class Shared:
    """What all simulated pods of a process share. Without ``objects``, ``awaited`` and ``services``
    nothing is looked for."""

    recorder: EventRecorder
    missing_images: Sequence[str] = ()
    capacity: Mapping[str, str] = field(default_factory=dict)
    pods: dict[str, SimulatedPod] = field(default_factory=dict)
    objects: WatchedObjects | None = None
    awaited: AwaitedVolumes | None = None
    services: PodServices | None = None
    changed: Callable[[str], None] = lambda key: None


class RunningSimulatedPod:
    """Implements ``runtime.RunningPod``."""

    def __init__(
        self, shared: Shared, pod: KubeObject, addresses: PodAddresses, now: float
    ) -> None:
        self._shared = shared
        self._pod = pod
        self._addresses = addresses
        # Of containers whose commands read more than what stands in the pod.
        self._environments: dict[str, dict[str, str]] | None = None
        self._wants_environment = False
        # Read again when something has to start once more: a pod that runs need not keep them.
        self._requirements = requirements_of(pod) if shared.objects is not None else None
        self._references = self._requirements.references if self._requirements else None
        self._faults: tuple[str, ...] = ()
        self._mount_problem = ""
        self._is_being_ended = False
        status = without_future_times(plain_field(pod, "status"), now)
        self._simulated = SimulatedPod(self._read(pod), now, status)
        for container in self._simulated.all():
            container.take_failures(now)  # which the kubelet before has told of
        shared.pods[pod.uid] = self._simulated
        if self._references is not None and shared.objects is not None:
            shared.objects.use(pod.uid, pod.namespace, self._references, self._objects_changed)
        if self._requirements is not None and shared.awaited is not None:
            spec = self._requirements.pod
            if self._is_to_start() or certificate_requests(spec):
                shared.awaited.look_for(spec, self._objects_changed)

    def update(self, pod: KubeObject) -> None:
        self._pod = pod
        self._simulated.update(self._read(pod))

    def stop(self, now: float, grace_s: float) -> None:
        self._simulated.stop(now, grace_s)
        if self._is_being_ended:
            return
        self._is_being_ended = True
        for container in (*self._simulated.containers, *self._simulated.ephemeral):
            if isinstance(container.state, Running):
                self._record(NORMAL, "Killing", f"Stopping container {container.plan.name}")

    def advance(self, now: float) -> None:
        containers = self._simulated.all()
        if self._wants_environment and not self._complete(containers) and not self._is_being_ended:
            return  # what its commands do is not known yet
        before = [container.state for container in containers]
        self._simulated.advance(now, self._start_blockers(containers))
        for container, state in zip(containers, before, strict=True):
            failures = container.take_failures(now)
            if container.state != state and isinstance(state, Waiting):
                self._record_change(container)
            for failure in failures:
                self._record_failure(container, failure)
            if container.state != state and not isinstance(state, Waiting):
                self._record_change(container)
        if not self._is_to_start():
            self._requirements = None

    def next_due(self, now: float) -> float | None:
        return self._simulated.next_due(now)

    def report(self, now: float) -> PodReport:
        said = report(self._pod, self._simulated, now)
        if said.phase in TERMINAL:
            self._release()
        return said

    def remove(self) -> None:
        self._shared.pods.pop(self._pod.uid, None)
        self._release()

    def _objects_changed(self) -> None:
        """What they are now matters to what waits to start."""
        if self._is_to_start():
            self._shared.changed(self._pod.key)

    def _is_to_start(self) -> bool:
        containers = (*self._simulated.init, *self._simulated.containers)
        return any(isinstance(container.state, Waiting) for container in containers)

    def _complete(self, containers: Sequence[Container]) -> bool:
        """Plan anew, with all variables, what has not started; False: they are not known yet. What
        runs, or is restarted at once, keeps those that it was started with."""
        if self._shared.services is None or self._shared.objects is None:
            return True
        known = self._environments or {}
        fresh = [c for c in containers if c.plan.name not in known or isinstance(c.state, Waiting)]
        if not fresh:
            return True
        spec, references = read_pod(self._pod), self._references or frozenset()
        services = self._shared.services.variables(self._pod.uid)
        found = self._shared.objects.read_nowait(self._pod.namespace, references)
        if services is None or found is None:
            return False
        sources = ValueSources(self._addresses, self._shared.capacity, found)
        made, names = environments_of(spec, services, sources), {c.plan.name for c in fresh}
        self._environments = {**made, **{n: e for n, e in known.items() if n not in names}}
        self._simulated.update(self._read(self._pod))
        return True

    def _release(self) -> None:
        if self._wants_environment and self._shared.services is not None:
            self._shared.services.release(self._pod.uid)
        if self._references is not None and self._shared.objects is not None:
            self._shared.objects.release(self._pod.uid)
            if self._shared.awaited is not None:
                self._shared.awaited.release(self._pod.uid)
            self._references = None

    def _read(self, pod: KubeObject) -> PodPlan:
        shared, sources = self._shared, ValueSources(self._addresses, self._shared.capacity, {})
        plan = read_plan(pod, shared.missing_images, sources, self._environments)
        if plan.wants_environment and shared.services is not None:
            self._wants_environment = True
            shared.services.look_for(read_pod(pod), lambda: shared.changed(pod.key))
        for fault in plan.faults:
            if fault not in self._faults:
                self._record(WARNING, _INVALID, f"{fault}; it counts as absent")
        self._faults = plan.faults
        return plan

    def _start_blockers(self, containers: Sequence[Container]) -> StartBlockers:
        """Only looked for while something waits to start."""
        objects = self._shared.objects
        if self._references is None or objects is None:
            return StartBlockers()
        if not any(isinstance(container.state, Waiting) for container in containers):
            return StartBlockers()
        self._requirements = requirements = self._requirements or requirements_of(self._pod)
        assert requirements is not None, "it refers to something"
        awaited = self._shared.awaited
        absent = awaited.problem(self._pod.uid) if awaited is not None else ""
        found = objects.read_nowait(self._pod.namespace, self._references)
        if found is None or absent is None:
            return StartBlockers(blocks_pod=True)
        missing = Missing(mount=absent) if absent else requirements.missing(found)
        if missing.mount and missing.mount != self._mount_problem:
            self._record(WARNING, "FailedMount", missing.mount)
        self._mount_problem = missing.mount
        return StartBlockers(bool(missing.mount), missing.problems)

    def _record_failure(self, container: Container, failure: FailedProbe) -> None:
        said = f"{failure.kind.capitalize()} probe failed: {failure.output}"
        self._record(WARNING, "Unhealthy", said)
        if failure.kills:
            name = container.plan.name
            said = f"Container {name} failed {failure.kind} probe, will be restarted"
            self._record(NORMAL, "Killing", said)

    def _record_change(self, container: Container) -> None:
        plan, state = container.plan, container.state
        if isinstance(state, Running):
            self._record(NORMAL, "Started", f"Container started: {plan.name}")
            return
        if not isinstance(state, Waiting):
            return
        if state.reason == CRASH_LOOP:
            said = f"Back-off restarting failed container {plan.name} in pod {self._pod.name}"
            self._record(WARNING, "BackOff", said)
        elif state.reason == PULL_FAILED:
            said = f'Failed to pull image "{plan.image}": {image_not_found(plan.image)}'
            self._record(NORMAL, "Pulling", f'Pulling image "{plan.image}"')
            self._record(WARNING, "Failed", said)
            self._record(WARNING, "Failed", f"Error: {PULL_FAILED}")
        elif state.reason == PULL_BACKOFF:
            self._record(NORMAL, "BackOff", f'Back-off pulling image "{plan.image}"')
            self._record(WARNING, "Failed", f"Error: {PULL_BACKOFF}")
        elif state.reason == NEVER_PULLED:
            self._record(WARNING, NEVER_PULLED, state.message)
            self._record(WARNING, "Failed", f"Error: {NEVER_PULLED}")
        elif state.reason == CONFIG_ERROR:
            self._record(WARNING, "Failed", f"Error: {state.message}")

    def _record(self, kind: str, reason: str, message: str) -> None:
        self._shared.recorder.event(self._pod, kind, reason, message)


def report(pod: KubeObject, simulated: SimulatedPod, now: float) -> PodReport:
    """Pure."""
    # Nothing of a pod that is over is ready, however it stood before.
    ready_at = float("-inf") if simulated.phase in TERMINAL else now
    return PodReport(
        phase=simulated.phase,
        begun=simulated.begun,
        reason=DEADLINE_EXCEEDED if simulated.has_exceeded_deadline else "",
        message=DEADLINE_TEXT if simulated.has_exceeded_deadline else "",
        init=[_reported(pod, c, ready_at, is_init=True) for c in simulated.init],
        containers=[_reported(pod, c, ready_at) for c in simulated.containers],
        ephemeral=[_reported(pod, c, ready_at) for c in simulated.ephemeral],
        is_replacing=any(c.is_redefined for c in simulated.all()),
    )


def _reported(
    pod: KubeObject, container: Container, ready_at: float, *, is_init: bool = False
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
        is_ready=container.is_ready(ready_at) or is_done_with,
        is_started=isinstance(container.state, Running),
        allows_next=allows_next(container),
    )
