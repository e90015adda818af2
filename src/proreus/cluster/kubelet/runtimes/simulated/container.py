"""One simulated container: waiting, running, terminated, as a function of time. Pure.

Before it starts it must have its image and what its environment refers to:

    Waiting ──no image──▶ ErrImagePull ⇄ ImagePullBackOff    ──image──▶ Running
       └──no object for a variable──▶ CreateContainerConfigError ──object──▶ Running
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import assert_never

from proreus.cluster.kubelet.runtimes.restart_policy import (
    RestartedContainer,
    restarts_all,
    runs_again,
)
from proreus.cluster.kubelet.runtimes.simulated.plan import ContainerPlan, FailedProbe
from proreus.cluster.kubelet.runtimes.states import (
    CONFIG_ERROR,
    CRASH_LOOP,
    CREATING,
    HEALTHY_AFTER_S,
    INITIALIZING,
    INTERRUPTED,
    KILLED,
    MESSAGE_BYTES,
    MESSAGE_LINES,
    MESSAGE_LOG_BYTES,
    NEVER_PULLED,
    PULL_BACKOFF,
    PULL_FAILED,
    ContainerState,
    Running,
    Terminated,
    Waiting,
    crash_backoff_s,
    pull_backoff_s,
)

_PULL_FAILURE_SHOWN_S = 2.0  # then the back-off is what is reported


def image_not_found(image: str) -> str:
    return f'failed to resolve reference "{image}": not found'


def _termination_message(plan: ContainerPlan, code: int, ran_s: float) -> str:
    """What it wrote to say how it ended; if it failed, the end of its log may stand for it."""
    written = [one.content or "" for one in plan.messages if one.at_s <= ran_s]
    if written and written[-1]:
        return written[-1].encode()[:MESSAGE_BYTES].decode("utf-8", "ignore")
    if not code or not plan.explains_by_log or not plan.lines:
        return ""
    printed = [line.text for line in plan.lines if line.at_s <= ran_s]
    text = "".join(printed[-MESSAGE_LINES:]).encode()
    return text[-MESSAGE_LOG_BYTES:].decode("utf-8", "ignore")


@dataclass(slots=True)
class Container(RestartedContainer):
    """``crashes`` in a row decide about the back-off; ``restarts`` are counted for ever."""

    plan: ContainerPlan
    state: ContainerState = field(default_factory=Waiting)
    restarts: int = 0
    crashes: int = 0
    last: Terminated | None = None
    failed_pulls: int = 0
    pulled_at: float = 0.0
    is_redefined: bool = False  # it is restarted under its new plan, whatever its policy
    asked: int = 0  # how many of its run's failed probes are over
    failures: list[FailedProbe] = field(default_factory=list)  # that nobody was told of
    is_renewed: bool = False  # its pod starts anew, and it has not been started since

    def redefine(self, plan: ContainerPlan) -> None:
        is_other = plan.definition != self.plan.definition
        self.is_redefined |= is_other and isinstance(self.state, Running)
        self.plan = plan

    def advance(self, now: float, begin: float | None, problem: str = "") -> None:
        """Do everything that is due; ``begin``: since when it may start, None: not yet.
        ``problem``: why its environment cannot be made."""
        if isinstance(self.state, Waiting) and self._is_freed(self.state.reason, problem):
            self.state = Waiting(CREATING, now)
        while True:
            match self.state:
                case Waiting(reason, until):
                    if reason in (NEVER_PULLED, CONFIG_ERROR):
                        return
                    if until is None:
                        if begin is None:
                            return
                        until = begin + self.plan.start_delay_s
                        self.state = Waiting(CREATING if reason == INITIALIZING else reason, until)
                    if until > now:
                        return
                    self._try_to_start(until, reason, problem)
                case Running():
                    due = self.exit_at
                    if due is not None and due <= now:
                        self._finish(due, self.plan.exit_code)
                    elif self.is_redefined:
                        self._finish(now, INTERRUPTED)
                    else:
                        return
                case Terminated() as ended:
                    if not self.restarts_after(ended) or self.restarts_all:
                        return
                    self.last = ended
                    if self.is_redefined:
                        self.crashes, self.is_redefined = 0, False
                    reason = CRASH_LOOP if self.crashes > 1 else CREATING
                    self.state = Waiting(reason, ended.finished_at + self.backoff_s)
                case unknown:
                    assert_never(unknown)

    def stop(self, now: float, begun: float, deadline: float) -> None:
        """Its stop was requested at ``begun``; it is killed at ``deadline``. A container that runs
        for ever exits with 0; one that would have ended by itself was interrupted."""
        match self.state:
            case Running():
                by_itself, stopped = self.exit_at, begun + self.plan.stop_after_s
                if by_itself is not None and by_itself <= min(now, stopped, deadline):
                    self._finish(by_itself, self.plan.exit_code)
                elif stopped <= min(now, deadline):
                    self._finish(stopped, 0 if by_itself is None else INTERRUPTED)
                elif deadline <= now:
                    self._finish(deadline, KILLED)
            case Waiting() if self.last is not None:
                self.state = self.last
            case Waiting() | Terminated():
                pass
            case unknown:
                assert_never(unknown)

    @property
    def restarts_all(self) -> bool:
        """It has ended so that all containers of its pod start anew."""
        ended = self.state
        return isinstance(ended, Terminated) and restarts_all(self.plan.restart_rules, ended)

    def renew(self, at: float, *, is_initializing: bool) -> None:
        """Its pod starts anew: end it at once, and let it wait for its turn."""
        if isinstance(self.state, Running):
            self._finish(at, KILLED)
        if isinstance(self.state, Terminated):
            self.last = self.state
        self.state = Waiting(INITIALIZING if is_initializing else CREATING)
        self.is_renewed = True

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

    @property
    def _next_failure_at(self) -> float | None:
        left = self.plan.failed_probes[self.asked :]
        if not left or not isinstance(self.state, Running):
            return None
        return self.state.started_at + left[0].at_s

    def take_failures(self, now: float) -> list[FailedProbe]:
        """Of its probes, each once."""
        self._fail_until(now)
        found, self.failures = self.failures, []
        return found

    def _fail_until(self, now: float) -> None:
        while (at := self._next_failure_at) is not None and at <= now:
            self.failures.append(self.plan.failed_probes[self.asked])
            self.asked += 1

    def is_ready(self, now: float) -> bool:
        return self.ready_at is not None and self.ready_at <= now

    @property
    def backoff_s(self) -> float:
        return crash_backoff_s(self.crashes)

    @property
    def has_failed(self) -> bool:
        return self.is_done and not self.has_succeeded

    def due_times(self) -> list[float]:
        """When something will happen by itself; may lie in the past."""
        match self.state:
            case Waiting(until=until):
                times = [until]
            case Running():
                times = [self.exit_at, self.ready_at, self._next_failure_at]
            case Terminated():
                times = []
            case unknown:
                assert_never(unknown)
        return [time for time in times if time is not None]

    def _is_freed(self, reason: str, problem: str) -> bool:
        """Whether what it waited for exists now."""
        if reason in (PULL_FAILED, PULL_BACKOFF):
            return self.plan.missing_image != "pull"
        if reason == NEVER_PULLED:
            return self.plan.missing_image != "never"
        return reason == CONFIG_ERROR and not problem

    def _try_to_start(self, at: float, reason: str, problem: str) -> None:
        image = self.plan.image
        if self.plan.missing_image == "never":
            text = f'Container image "{image}" is not present with pull policy of Never'
            self.state = Waiting(NEVER_PULLED, None, text)
        elif self.plan.missing_image == "pull" and reason == PULL_FAILED:
            text = f'Back-off pulling image "{image}": ErrImagePull: {image_not_found(image)}'
            until = self.pulled_at + pull_backoff_s(self.failed_pulls)
            self.state = Waiting(PULL_BACKOFF, until, text)
        elif self.plan.missing_image == "pull":
            self.failed_pulls += 1
            self.pulled_at = at
            self.state = Waiting(PULL_FAILED, at + _PULL_FAILURE_SHOWN_S, image_not_found(image))
        elif problem:
            self.state = Waiting(CONFIG_ERROR, None, problem)
        else:
            self.failed_pulls = 0
            self._start(at)

    def _start(self, at: float) -> None:
        if self.last is not None:
            self.restarts += 1
        self.state, self.is_renewed, self.asked = Running(at), False, 0

    def _finish(self, at: float, code: int) -> None:
        assert isinstance(self.state, Running)
        started_at = self.state.started_at
        self._fail_until(at)
        self.crashes = 1 if at - started_at >= HEALTHY_AFTER_S else self.crashes + 1
        message = _termination_message(self.plan, code, at - started_at)
        self.state = Terminated(code, started_at, at, message=message)

    def restarts_after(self, ended: Terminated) -> bool:
        policy, rules = self.plan.restart_policy, self.plan.restart_rules
        return self.is_redefined or runs_again(policy, ended, rules)
