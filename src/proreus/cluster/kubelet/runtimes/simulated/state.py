"""The state of a simulated pod: its containers in order, its phase, when it is due. Pure.

Everything follows from the plan, the times at which things happened, and now; nothing is kept that
the pod's status does not say too, so a kubelet that was restarted goes on where it stopped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from proreus.api.json_types import Json
from proreus.api.values.timestamp import parse_time
from proreus.cluster.kubelet.runtimes.restart_policy import has_restart_all, restarts_all
from proreus.cluster.kubelet.runtimes.simulated.container import Container
from proreus.cluster.kubelet.runtimes.simulated.plan import ContainerPlan, PodPlan
from proreus.cluster.kubelet.runtimes.states import (
    CRASH_LOOP,
    CREATING,
    FAILED,
    INITIALIZING,
    PENDING,
    RUNNING,
    SUCCEEDED,
    Running,
    Terminated,
    Waiting,
)


@dataclass(frozen=True, slots=True)
class _Stopping:
    begun: float
    deadline: float


@dataclass(frozen=True, slots=True)
class StartBlockers:
    """What keeps containers from starting: ``blocks_pod`` the whole pod (its volumes), ``problems``
    single ones, with the reason."""

    blocks_pod: bool = False
    problems: Mapping[str, str] = field(default_factory=dict)


class SimulatedPod:
    """Call ``advance`` with the time, then read. ``begun``: when the kubelet first saw the pod."""

    def __init__(self, plan: PodPlan, begun: float, status: Json | None = None):
        known = status or {}
        self.begun = begun
        self._plan = plan
        started = known.get("startTime")
        self._active_since = parse_time(started) if started else begun
        self._is_expired = False
        self.init = _restored(plan.init, known.get("initContainerStatuses") or ())
        self.containers = _restored(plan.containers, known.get("containerStatuses") or ())
        self.ephemeral = _restored(plan.ephemeral, known.get("ephemeralContainerStatuses") or ())
        self._begin = self._resume_renewal(begun)
        if self.init and not self.is_initialized:
            for container in self.containers:
                if container.state == Waiting():
                    container.state = Waiting(INITIALIZING)
        self._stopping: _Stopping | None = None
        self._is_held = False

    def _resume_renewal(self, begun: float) -> float:
        """When containers may begin. Where all start anew together, one that waits after an earlier
        run, and not for a crash of its own, had not had its turn when the kubelet ended."""
        if not any(has_restart_all(container.plan.restart_rules) for container in self._own()):
            return begun
        for container in self._own():
            state, last = container.state, container.last
            if last is None or not isinstance(state, Waiting) or state.reason == CRASH_LOOP:
                continue
            container.state, container.is_renewed = Waiting(), True
            if restarts_all(container.plan.restart_rules, last):
                begun = max(begun, last.finished_at + container.backoff_s)
            else:
                container.crashes = 0
        return begun

    def update(self, plan: PodPlan) -> None:
        """The pod changed, or has a further ephemeral container. What runs goes on under the new
        plan, unless its definition is another."""
        self._plan = plan
        self.ephemeral += _restored(plan.ephemeral[len(self.ephemeral) :], ())
        planned = (*plan.init, *plan.containers, *plan.ephemeral)
        for container, its_plan in zip(self.all(), planned, strict=True):
            container.redefine(its_plan)

    def all(self) -> list[Container]:
        return [*self.init, *self.containers, *self.ephemeral]

    def stop(self, now: float, grace_s: float) -> None:
        """End everything within ``grace_s``. A further call can only shorten the time."""
        deadline = now + grace_s
        if self._stopping is None:
            self._stopping = _Stopping(now, deadline)
        elif deadline < self._stopping.deadline:
            self._stopping = _Stopping(self._stopping.begun, deadline)

    def advance(self, now: float, hold: StartBlockers | None = None) -> None:
        expires = self._expires
        if expires is not None and expires <= now and self._stopping is None:
            self._run(expires, hold or StartBlockers())
            if not self._is_work_done:
                self._is_expired = True
                self.stop(now, self._plan.grace_s)
        stopping = self._stopping
        if stopping is None:
            self._run(now, hold or StartBlockers())
        if stopping is not None or self._is_work_done:
            # Sidecars live as long as the work; they are stopped without a deadline of their own.
            begun = stopping.begun if stopping else now
            deadline = stopping.deadline if stopping else float("inf")
            for container in self.all():
                container.stop(now, begun, deadline)

    @property
    def is_stopped(self) -> bool:
        """Its stop was requested, and nothing runs any more."""
        return self._stopping is not None and not self._is_anything_running

    @property
    def is_initialized(self) -> bool:
        return all(allows_next(container) for container in self.init)

    @property
    def has_exceeded_deadline(self) -> bool:
        """And has ended for that."""
        return self._is_expired and self.is_stopped

    @property
    def _expires(self) -> float | None:
        limit_s = self._plan.active_deadline_s
        return None if limit_s is None else self._active_since + limit_s

    @property
    def phase(self) -> str:
        if self.has_exceeded_deadline:
            return FAILED
        if self.is_stopped or (self._is_work_done and not self._is_anything_running):
            everything = (*(c for c in self.init if not c.plan.is_sidecar), *self.containers)
            return SUCCEEDED if all(c.has_succeeded for c in everything) else FAILED
        if not self.is_initialized and not any(c.last or _has_run(c) for c in self.containers):
            return PENDING
        if any(isinstance(c.state, Waiting) and c.last is None for c in self.containers):
            return PENDING
        return RUNNING

    def next_due(self, now: float) -> float | None:
        """When to call ``advance`` again, None: not before the pod changes."""
        times = [t for c in self.all() for t in c.due_times() if t > now]
        if self._stopping is not None and self._is_anything_running:
            begun, deadline = self._stopping.begun, self._stopping.deadline
            stops = [begun + c.plan.stop_after_s for c in self.all()]
            times += [time for time in (*stops, deadline) if time > now]
        expires = self._expires
        if expires is not None and expires > now and self._stopping is None:
            times.append(expires)
        return min(times, default=None)

    @property
    def _is_work_done(self) -> bool:
        """All containers have ended for good, or cannot begin because an init container failed."""
        if any(c.has_failed for c in self.init):
            return True
        return all(c.is_done for c in self.containers)

    @property
    def _is_anything_running(self) -> bool:
        return any(isinstance(c.state, Running) for c in self.all())

    def _run(self, now: float, hold: StartBlockers) -> None:
        self._run_each(now, hold)
        while (cause := next((c for c in self._own() if c.restarts_all), None)) is not None:
            self._renew(cause)
            self._run_each(now, hold)

    def _own(self) -> list[Container]:
        return [*self.init, *self.containers]

    def _renew(self, cause: Container) -> None:
        """All start anew, init containers first, once the back-off of the one that ended is over.
        Others have not crashed."""
        assert isinstance(cause.state, Terminated)
        ended_at = cause.state.finished_at
        self._begin = ended_at + cause.backoff_s
        for container in self._own():
            container.renew(ended_at, is_initializing=bool(self.init))
            if container is not cause:
                container.crashes = 0

    def _run_each(self, now: float, hold: StartBlockers) -> None:
        if self._is_held and not hold.blocks_pod:
            self._begin = now
        self._is_held = hold.blocks_pod
        begin: float | None = None if self._is_held else self._begin
        for container in self.ephemeral:
            container.advance(
                now, None if self._is_held else now, hold.problems.get(container.plan.name, "")
            )
        for container in self.init:
            container.advance(now, begin, hold.problems.get(container.plan.name, ""))
            begin = _passed_at(container) if begin is not None else None
        if begin is None and any(_has_run(c) for c in self.containers):
            begin = self.begun  # an init container is run again (a sidecar's restart): no way back
        for container in self.containers:
            container.advance(now, begin, hold.problems.get(container.plan.name, ""))


def _has_run(container: Container) -> bool:
    return not isinstance(container.state, Waiting)


def allows_next(container: Container) -> bool:
    return _passed_at(container) is not None


def _passed_at(container: Container) -> float | None:
    """Since when the containers after this init container may start."""
    if container.is_renewed:
        return None
    match container.state:
        case Running(started_at) if container.plan.is_sidecar:
            return started_at
        case Terminated(exit_code, _, finished_at) if exit_code == 0 or container.plan.is_sidecar:
            return finished_at
        case Waiting() if container.plan.is_sidecar and container.last is not None:
            return container.last.finished_at
        case _:
            return None


def _restored(plans: Sequence[ContainerPlan], statuses: Sequence[Json]) -> list[Container]:
    known = {status["name"]: status for status in statuses}
    return [_restore(plan, known.get(plan.name) or {}) for plan in plans]


def _restore(plan: ContainerPlan, status: Json) -> Container:
    container = Container(plan, restarts=status.get("restartCount") or 0)
    container.crashes = container.restarts
    state = status.get("state") or {}
    container.last = _terminated((status.get("lastState") or {}).get("terminated"))
    if running := state.get("running"):
        container.state = Running(parse_time(running["startedAt"]))
    elif ended := _terminated(state.get("terminated")):
        container.crashes += 1
        container.state = ended
    elif container.last is not None:
        container.crashes += 1
        said = (state.get("waiting") or {}).get("reason")
        reason = CREATING if said in (CREATING, INITIALIZING) else CRASH_LOOP
        container.state = Waiting(reason, container.last.finished_at + container.backoff_s)
    return container


def _terminated(ended: Json | None) -> Terminated | None:
    if not ended or not ended.get("finishedAt") or not ended.get("startedAt"):
        return None
    return Terminated(
        ended.get("exitCode") or 0,
        parse_time(ended["startedAt"]),
        parse_time(ended["finishedAt"]),
        message=ended.get("message") or "",
    )
