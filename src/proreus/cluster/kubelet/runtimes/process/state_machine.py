"""The state machine of a pod: which container starts next, which must stop, its phase. Pure.

Its inputs are what happened (a start, an exit, a failed start); its output are the next ``steps``,
which the tasks of ``pod`` do. A run of a container is active from the beginning of its start until
it has ended; nothing is started twice at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from proreus.cluster.kubelet.runtimes.pod_spec.pod_spec import ContainerSpec, PodSpec
from proreus.cluster.kubelet.runtimes.restart_policy import (
    RestartedContainer,
    definition,
    restart_rules,
    restarts_all,
    runs_again,
)
from proreus.cluster.kubelet.runtimes.states import (
    CRASH_LOOP,
    CREATING,
    DEADLINE_EXCEEDED,
    DEADLINE_TEXT,
    FAILED,
    HEALTHY_AFTER_S,
    INITIALIZING,
    PENDING,
    RUNNING,
    SUCCEEDED,
    TERMINAL,
    ContainerReport,
    ContainerState,
    PodReport,
    Running,
    Terminated,
    Waiting,
    crash_backoff_s,
    crash_loop_message,
)


@dataclass(slots=True)
class ContainerStateMachine(RestartedContainer):
    """``restarts`` is the number of the run that is active, or was last; ``image`` is that of it,
    while the spec may name the next."""

    spec: ContainerSpec
    state: ContainerState = field(default_factory=Waiting)
    last: Terminated | None = None
    restarts: int = 0
    crashes: int = 0
    container_id: str = ""
    image: str = ""
    is_active: bool = False
    is_started: bool = False
    is_ready: bool = False
    has_started: bool = False  # in any of its runs
    is_redefined: bool = False  # it is restarted with its new spec, whatever its policy
    restarts_all: bool = False  # it has ended so that all of its pod start anew
    is_renewed: bool = False  # its pod starts anew, and it has not been started since

    @property
    def has_run(self) -> bool:
        """Since its pod began, or began anew."""
        has_run = self.last is not None or not isinstance(self.state, Waiting)
        return has_run and not self.is_renewed

    @property
    def allows_next(self) -> bool:
        """Of an init container: what comes after it may run."""
        return self.has_started if self.spec.is_sidecar else self.has_succeeded

    @property
    def next_restart(self) -> int:
        """The number of the run that is being started."""
        return self.restarts + 1 if self.container_id else 0

    def begin(self) -> None:
        if isinstance(self.state, Terminated):
            self.last = self.state
        self.state, self.image = Waiting(CREATING), self.spec.image
        self.is_active, self.is_redefined, self.is_renewed = True, False, False

    def redefine(self, spec: ContainerSpec) -> bool:
        """The pod's spec changed; whether what runs must be replaced."""
        is_other = definition(spec.content) != definition(self.spec.content)
        self.spec = spec
        self.is_redefined |= is_other and self.is_active
        return self.is_redefined

    def refused(self, reason: str, message: str, retry_at: float | None) -> None:
        """It could not be started, and did not count as a start."""
        self.state = Waiting(reason, retry_at, message)
        self.is_active = self.is_started = self.is_ready = False

    def retry(self, now: float) -> None:
        """What it was refused for may have changed."""
        if isinstance(self.state, Waiting) and self.state.until and self.state.reason != CRASH_LOOP:
            self.state = Waiting(self.state.reason, now, self.state.message)

    def set_running(self, container_id: str, now: float) -> None:
        self._count(container_id)
        self.state = Running(now)

    def set_started(self) -> None:
        self.is_started = self.has_started = True

    def ended(self, how: Terminated) -> None:
        self._count(how.container_id)
        self.is_active = self.is_started = self.is_ready = False
        is_forgiven = how.finished_at - how.started_at >= HEALTHY_AFTER_S or self.is_redefined
        self.crashes = 1 if is_forgiven else self.crashes + 1
        self.state = how
        rules = restart_rules(self.spec.content)
        self.restarts_all = restarts_all(rules, how) and not self.is_redefined
        self.back_off()

    def renew(self, *, is_initializing: bool) -> None:
        """Its pod starts anew; nothing of it runs."""
        if isinstance(self.state, Terminated):
            self.last = self.state
        self.state = Waiting(INITIALIZING if is_initializing else CREATING)
        if not self.restarts_all:
            self.crashes = 0
        self.restarts_all = self.has_started = False
        self.is_renewed = True

    def start_at(self) -> float | None:
        """When it may start; None: not by itself."""
        if self.is_active:
            return None
        match self.state:
            case Waiting(_, until):
                return until
            case Terminated(finished_at=finished_at) if self.restarts_after(self.state):
                return finished_at
            case _:
                return None

    @property
    def is_new(self) -> bool:
        """Never tried."""
        return not self.is_active and self.state in (Waiting(CREATING), Waiting(INITIALIZING))

    def give_up(self) -> None:
        """The pod ends: what waits to be restarted is over."""
        if not self.is_active and isinstance(self.state, Waiting) and self.last is not None:
            self.state = self.last

    def restarts_after(self, ended: Terminated) -> bool:
        policy, rules = self.spec.restart_policy, restart_rules(self.spec.content)
        return self.is_redefined or runs_again(policy, ended, rules)

    def back_off(self) -> None:
        """If it will be restarted, but not at once."""
        backoff_s = crash_backoff_s(self.crashes)
        if isinstance(self.state, Terminated) and self.restarts_after(self.state) and backoff_s:
            self.last = self.state
            self.state = Waiting(CRASH_LOOP, self.last.finished_at + backoff_s)

    def _count(self, container_id: str) -> None:
        if container_id != self.container_id:
            self.restarts = self.next_restart
            self.container_id = container_id


@dataclass(frozen=True, slots=True)
class Steps:
    """What to do now; ``due`` is when to ask again if nothing happens, None: not before then.
    ``is_abrupt``: what is to stop gets no time, and no hook."""

    start: ContainerStateMachine | None
    stop: Sequence[ContainerStateMachine]
    due: float | None
    is_abrupt: bool = False


@dataclass(frozen=True, slots=True)
class _Stopping:
    deadline: float
    reason: str = ""
    message: str = ""


class PodStateMachine:
    """``begun``: when the pod's deadline began to run."""

    def __init__(self, pod: PodSpec, begun: float) -> None:
        self.pod = pod
        self.begun = begun
        self.init = [ContainerStateMachine(spec) for spec in pod.init]
        waiting = Waiting(INITIALIZING) if pod.init else Waiting()
        self.containers = [ContainerStateMachine(spec, waiting) for spec in pod.containers]
        self.ephemeral = [ContainerStateMachine(spec) for spec in pod.ephemeral]
        self._stopping: _Stopping | None = None

    def update(self, pod: PodSpec) -> None:
        """The object changed; only ephemeral containers can be new."""
        self.pod = pod
        added = pod.ephemeral[len(self.ephemeral) :]
        self.ephemeral += [ContainerStateMachine(spec) for spec in added]

    def all(self) -> list[ContainerStateMachine]:
        return [*self.init, *self.containers, *self.ephemeral]

    def container(self, name: str) -> ContainerStateMachine | None:
        return next((found for found in self.all() if found.spec.name == name), None)

    def stop(self, deadline: float, reason: str = "", message: str = "") -> None:
        """End everything by ``deadline``. A further call can only shorten the time."""
        if self._stopping is None:
            self._stopping = _Stopping(deadline, reason, message)
        elif deadline < self._stopping.deadline:
            before = self._stopping
            self._stopping = _Stopping(deadline, before.reason, before.message)

    @property
    def is_stopping(self) -> bool:
        return self._stopping is not None

    @property
    def is_over(self) -> bool:
        """Nothing runs, and nothing will."""
        is_ending = self._stopping is not None or self._is_work_done
        return is_ending and not any(container.is_active for container in self.all())

    def stop_deadline(self, now: float) -> float:
        """By when what ``steps`` stops must have ended."""
        return self._stopping.deadline if self._stopping else now + self.pod.grace_s

    def steps(self, now: float) -> Steps:
        limit_s = self.pod.active_deadline_s
        expires = self.begun + limit_s if limit_s is not None else None
        if expires is not None and now >= expires and not self.is_over:
            self.stop(now + self.pod.grace_s, DEADLINE_EXCEEDED, DEADLINE_TEXT)
        if self._stopping is not None or self._is_work_done:
            for container in self.all():
                container.give_up()
            return Steps(None, self._to_stop(), None)
        times = [expires] if expires is not None else []
        if causes := [c for c in self._own() if c.restarts_all]:
            if active := [c for c in self._own() if c.is_active]:
                return Steps(None, active, min(times, default=None), is_abrupt=True)
            begin = max(c.start_at() or now for c in causes)  # after their back-off
            if begin > now:
                return Steps(None, (), min([*times, begin]))
            for container in self._own():
                container.renew(is_initializing=bool(self.init))
        candidates = self._candidates()
        for container in candidates:
            at = now if container.is_new else container.start_at()
            if at is not None and at <= now:
                return Steps(container, (), now)
            if at is not None:
                times.append(at)
        return Steps(None, (), min(times, default=None))

    def _own(self) -> list[ContainerStateMachine]:
        return [*self.init, *self.containers]

    def _candidates(self) -> list[ContainerStateMachine]:
        """Those whose turn it is, in order; the ones behind one that is being started wait, but
        ephemeral ones wait for none: they may be there to see why another one does not start."""
        found = list(self.ephemeral)
        have_run = any(container.has_run for container in self.containers)
        for container in self.init:
            if not (have_run or container.allows_next):
                return [*found, container]
            if container.spec.is_sidecar:
                found.append(container)
        for container in self.containers:
            found.append(container)
            if container.is_active and isinstance(container.state, Waiting):
                break  # its hook after the start has not ended
        return found

    def _to_stop(self) -> list[ContainerStateMachine]:
        """All at once, but sidecars after the others, one by one, the last one first."""
        others = [c for c in self.all() if c.is_active and not c.spec.is_sidecar]
        if others:
            return others
        sidecars = [c for c in self.init if c.is_active]
        return sidecars[-1:]

    @property
    def _is_work_done(self) -> bool:
        """All containers have ended for good, or cannot begin because an init container failed."""
        if any(c.restarts_all for c in self._own()):
            return False
        if any(c.is_done and not c.has_succeeded for c in self.init):
            return True
        return all(c.is_done for c in self.containers)

    def phase(self) -> str:
        if self.is_over:
            if self._stopping is not None and self._stopping.reason:
                return FAILED
            everything = [*(c for c in self.init if not c.spec.is_sidecar), *self.containers]
            return SUCCEEDED if all(c.has_succeeded for c in everything) else FAILED
        if not all(c.allows_next for c in self.init) and not any(
            c.has_run for c in self.containers
        ):
            return PENDING
        if any(not c.has_run for c in self.containers):
            return PENDING
        return RUNNING

    def report(self) -> PodReport:
        stopping, phase = self._stopping, self.phase()
        is_terminal = phase in TERMINAL
        why = stopping if stopping is not None and is_terminal else None
        return PodReport(
            phase=phase,
            begun=self.begun,
            init=[self._reported(c, is_terminal) for c in self.init],
            containers=[self._reported(c, is_terminal) for c in self.containers],
            ephemeral=[self._reported(c, is_terminal) for c in self.ephemeral],
            reason=why.reason if why else "",
            message=why.message if why else "",
            is_restarting_all=any(c.restarts_all for c in self._own()),
            is_replacing=any(c.is_redefined for c in self._own()),
        )

    def _reported(self, container: ContainerStateMachine, is_terminal: bool) -> ContainerReport:
        spec, state = container.spec, container.state
        image = container.image or spec.image
        if isinstance(state, Waiting) and state.reason == CRASH_LOOP:
            backoff_s = crash_backoff_s(container.crashes)
            said = crash_loop_message(backoff_s, spec.name, self.pod.full_name)
            state = Waiting(state.reason, state.until, said)
        is_done_with = spec.is_init and not spec.is_sidecar and container.has_succeeded
        return ContainerReport(
            name=spec.name,
            image=image,
            image_id=f"process://{image}" if container.container_id else "",
            container_id=container.container_id,
            state=state,
            last=container.last,
            restarts=container.restarts,
            is_ready=is_done_with or (container.is_ready and not is_terminal),
            is_started=container.is_started,
            allows_next=container.allows_next,
        )
