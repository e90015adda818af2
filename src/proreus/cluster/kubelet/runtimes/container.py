"""One simulated container: waiting, running, terminated, as a function of time. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import assert_never

from proreus.cluster.kubelet.runtimes.plan import ContainerPlan
from proreus.cluster.kubelet.runtimes.restarting import has_succeeded, runs_again
from proreus.cluster.kubelet.runtimes.states import (
    CRASH_LOOP,
    CREATING,
    HEALTHY_AFTER_S,
    INITIALIZING,
    KILLED,
    ContainerState,
    Running,
    Terminated,
    Waiting,
    crash_backoff_s,
)


@dataclass(slots=True)
class Container:
    """``crashes`` in a row decide about the back-off; ``restarts`` are counted for ever."""

    plan: ContainerPlan
    state: ContainerState = field(default_factory=Waiting)
    restarts: int = 0
    crashes: int = 0
    last: Terminated | None = None

    def advance(self, now: float, begin: float | None) -> None:
        """Do everything that is due; ``begin``: since when it may start, None: not yet."""
        while True:
            match self.state:
                case Waiting(reason, until):
                    if until is None:
                        if begin is None:
                            return
                        until = begin + self.plan.start_delay_s
                        self.state = Waiting(CREATING if reason == INITIALIZING else reason, until)
                    if until > now:
                        return
                    self._start(until)
                case Running():
                    due = self.exit_at
                    if due is None or due > now:
                        return
                    self._finish(due, self.plan.exit_code)
                case Terminated() as ended:
                    if not self._restarts(ended):
                        return
                    self.last = ended
                    reason = CRASH_LOOP if self.crashes > 1 else CREATING
                    self.state = Waiting(reason, ended.finished_at + self.backoff_s)
                case unknown:
                    assert_never(unknown)

    def stop(self, now: float, begun: float, deadline: float) -> None:
        """It was told to stop at ``begun`` and is killed at ``deadline``."""
        match self.state:
            case Running():
                by_itself, told = self.exit_at, begun + self.plan.stop_after_s
                if by_itself is not None and by_itself <= min(now, told, deadline):
                    self._finish(by_itself, self.plan.exit_code)
                elif told <= min(now, deadline):
                    self._finish(told, 0)
                elif deadline <= now:
                    self._finish(deadline, KILLED)
            case Waiting() if self.last is not None:
                self.state = self.last
            case Waiting() | Terminated():
                pass
            case unknown:
                assert_never(unknown)

    @property
    def exit_at(self) -> float | None:
        """When it exits by itself, if it runs."""
        plan = self.plan
        if not isinstance(self.state, Running) or plan.exit_after_s is None:
            return None
        if plan.exits is not None and self.restarts >= plan.exits:
            return None
        return self.state.started_at + plan.exit_after_s

    @property
    def ready_at(self) -> float | None:
        if not isinstance(self.state, Running) or self.plan.ready_after_s is None:
            return None
        return self.state.started_at + self.plan.ready_after_s

    def is_ready(self, now: float) -> bool:
        return self.ready_at is not None and self.ready_at <= now

    @property
    def backoff_s(self) -> float:
        return crash_backoff_s(self.crashes)

    @property
    def has_succeeded(self) -> bool:
        return has_succeeded(self.state)

    @property
    def is_done(self) -> bool:
        """Ended for good."""
        return isinstance(self.state, Terminated) and not self._restarts(self.state)

    @property
    def has_failed(self) -> bool:
        return self.is_done and not self.has_succeeded

    def due_times(self) -> list[float]:
        """When something will happen by itself; may lie in the past."""
        match self.state:
            case Waiting(until=until):
                times = [until]
            case Running():
                times = [self.exit_at, self.ready_at]
            case Terminated():
                times = []
            case unknown:
                assert_never(unknown)
        return [time for time in times if time is not None]

    def _start(self, at: float) -> None:
        if self.last is not None:
            self.restarts += 1
        self.state = Running(at)

    def _finish(self, at: float, code: int) -> None:
        assert isinstance(self.state, Running)
        started_at = self.state.started_at
        self.crashes = 1 if at - started_at >= HEALTHY_AFTER_S else self.crashes + 1
        self.state = Terminated(code, started_at, at)

    def _restarts(self, ended: Terminated) -> bool:
        return runs_again(self.plan.restart_policy, ended)
