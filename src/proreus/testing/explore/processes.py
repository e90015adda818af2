"""Exploring programs of any language: processes of their own, which are given a kubeconfig.

    proreus explore --program ./controller.sh -- kubectl apply -f website.yaml

The program is started anew for each run, and ended after it; the workload is a command that ends by
itself. Time is real, so a plan takes seconds. Faults strike at the server's hooks: crashes
(SIGKILL, and another start), refused writes, lost answers, conflicts, late events.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from proreus.aio.clock import Clock, deadline
from proreus.aio.tasks import background
from proreus.api.status import InternalError
from proreus.api.wire.framing import ADDED, DELETED, MODIFIED
from proreus.net.http1.messages import Answer
from proreus.server.config import ServerConfig
from proreus.testing.explore.faults import Crash, Delay, Fail, Fault, Plan, WriteFailure
from proreus.testing.explore.history import RunHistory
from proreus.testing.explore.normal import TOUCHED, chance_in
from proreus.testing.explore.outcome import (
    Learned,
    PlanRun,
    Report,
    Unusable,
    check_undisturbed,
    chosen,
    finding_in,
)
from proreus.testing.explore.planning import among, plans_for
from proreus.testing.explore.points import AskedFor, Counted, EventPoint, WritePoint, asked
from proreus.testing.explore.settings import Settings
from proreus.testing.explore.stored_objects import StoredObjects
from proreus.testing.explore.trace import Saw, Settled, Struck, Trace, Wrote
from proreus.testing.interception import BreakConnection, Delivery, Proceed, SentEvent
from proreus.testing.program import RunningProgram, running_program
from proreus.testing.requests import RecordedRequest
from proreus.testing.server import RunningServer, running_server

PROGRAM = "program"
_ADMINISTRATORS = "system:masters"
_OBJECT_EVENTS = (ADDED, MODIFIED, DELETED)
_OUTPUT_LINES = 10
_ENDS_MAX = 5

Progress = Callable[[Plan, bool], None]


@dataclass(frozen=True, slots=True)
class ExploredCommands:
    """``program`` is explored and runs beside ``workload``, which ends. Without a program it is the
    workload that is explored; then nothing crashes."""

    workload: Sequence[str]
    program: Sequence[str] = ()


class ProcessExploration:
    """Of one pair of commands, on one server. ``settings.quiet_s`` is of real time."""

    def __init__(
        self,
        server: RunningServer,
        commands: ExploredCommands,
        settings: Settings,
        kubeconfig: Path,
    ) -> None:
        self._server = server
        self._commands = commands
        self._settings = settings
        self._kubeconfig = kubeconfig
        self._reader = StoredObjects(server.api.catalog)

    async def report(self, progress: Progress, only: str = "") -> Report:
        """``progress`` is called after each plan, with whether it made a difference."""
        learned = await self._learn()
        report = Report(planned=len(learned.plans))
        plans = chosen(learned.plans, self._settings)
        if only:
            plan = among(learned.plans, only)
            if plan is None:
                raise Unusable(f"there is no plan {only!r}: the program made other writes")
            plans = [plan]
        for plan in plans:
            found = finding_in(plan, await self._run(plan), learned)
            report.run_count += 1
            progress(plan, found is not None)
            if found is not None:
                report.findings.append(found)
            if len(report.findings) >= self._settings.findings_max:
                break
        return report

    async def _learn(self) -> Learned:
        runs = []
        for _ in range(2):
            runs.append(await self._run(Plan(())))
            check_undisturbed(runs[-1])
        usable = [
            plan for plan in plans_for(runs[1].trace, PROGRAM) if self._can_do(plan.faults[0])
        ]
        return Learned(tuple(usable), runs[1], chance_in(runs[0].end, runs[1].end), frozenset())

    def _can_do(self, fault: Fault) -> bool:
        has_program = bool(self._commands.program)
        return isinstance(fault, Fail | Delay) or (isinstance(fault, Crash) and has_program)

    async def _run(self, plan: Plan) -> PlanRun:
        server, settings = self._server, self._settings
        history = RunHistory(server.api.parts.storage, self._reader)
        failure: BaseException | None = None
        async with server.fork(), background(history.run()):
            await history.wait_open()
            beside = _Beside(self._commands.program, self._kubeconfig, settings, server.clock)
            hooks = _Hooks(server, plan, beside, settings)
            async with background(beside.run()), hooks.set():
                try:
                    await self._work_beside(beside)
                    beside.check(ends_max=_ENDS_MAX if plan.faults else 0)
                except AssertionError as error:
                    failure = error
                hooks.trace.add(Settled(server.clock.monotonic(), 1))
            end = await history.end(settings.counts)
            gone = await history.gone(settings.counts)
        return PlanRun(hooks.trace, tuple(end), tuple(gone), (), failure)

    async def _work_beside(self, beside: _Beside) -> None:
        await beside.wait_at_work()
        await self._work()
        await self._server.settle(quiet_for=self._settings.quiet_s)
        while not beside.is_at_work:
            await beside.wait_at_work()
            await self._server.settle(quiet_for=self._settings.quiet_s)

    async def _work(self) -> None:
        own = self._kubeconfig if not self._commands.program else self._server.kubeconfig
        async with (
            asyncio.timeout(self._settings.patience_s),
            running_program(*self._commands.workload, kubeconfig=own) as running,
        ):
            code = await running.wait()
        assert code == 0, f"the workload ended with {code}: {_end_of(running.output)}"


class _Beside:
    """The program, started again after each crash, and when it ends, as in a pod."""

    def __init__(
        self, command: Sequence[str], kubeconfig: Path, settings: Settings, clock: Clock
    ) -> None:
        self._command = command
        self._clock = clock
        self._kubeconfig = kubeconfig
        self._settings = settings
        self._crashed = asyncio.Event()
        self._at_work = asyncio.Event()
        self._running: RunningProgram | None = None
        self._ends: list[str] = []

    async def run(self) -> None:
        while self._command and len(self._ends) <= _ENDS_MAX:
            self._crashed.clear()
            async with running_program(*self._command, kubeconfig=self._kubeconfig) as running:
                self._running = running
                code = await running.wait()
            if not self._crashed.is_set():
                self._ends.append(f"the program ended with {code}: {_end_of(running.output)}")
                self._at_work.clear()
            await self._clock.sleep(self._settings.restart_s)
        await asyncio.Event().wait()

    @property
    def is_at_work(self) -> bool:
        """It has asked for something since it was started."""
        return not self._command or self._at_work.is_set()

    async def wait_at_work(self) -> None:
        """Raises AssertionError if it does not ask for anything."""
        if self.is_at_work:
            return
        try:
            async with deadline(self._clock, self._settings.patience_s):
                await self._at_work.wait()
        except TimeoutError as late:
            self.check(ends_max=0)
            limit = f"{self._settings.patience_s:g} s"
            raise AssertionError(f"the program has asked for nothing within {limit}") from late

    def has_asked(self) -> None:
        if not self._crashed.is_set():
            self._at_work.set()

    def crash(self) -> None:
        self._crashed.set()
        self._at_work.clear()
        if self._running is not None:
            self._running.kill()

    def check(self, ends_max: int) -> None:
        """Raises AssertionError if it has ended by itself more often."""
        if len(self._ends) > ends_max:
            raise AssertionError(self._ends[-1])


class _Hooks:
    """Sees the program's requests and events, and lets one thing go wrong."""

    def __init__(
        self, server: RunningServer, plan: Plan, beside: _Beside, settings: Settings
    ) -> None:
        self.trace = Trace()
        self._server = server
        self._beside = beside
        self._settings = settings
        self._pending = list(plan.faults)
        self._counted = Counted()

    @asynccontextmanager
    async def set(self) -> AsyncIterator[None]:
        stops = (self._server.intercept(self._request), self._server.on_watch_event(self._event))
        try:
            yield
        finally:
            for stop in stops:
                stop()

    async def _request(self, request: RecordedRequest, proceed: Proceed) -> Answer:
        if request.user != PROGRAM:
            return await proceed()
        self._beside.has_asked()
        what = asked(f"{request.path}?{request.query}")
        if not request.is_write or what is None:
            return await proceed()
        # The body is not read yet: an object to be made has no name.
        write = self._counted.write(request.method, what, None)
        match self._strike(write):
            case Crash(is_after=False):
                self._beside.crash()
                raise BreakConnection
            case Crash():
                await self._done(request, write, proceed)
                self._beside.crash()
                raise BreakConnection
            case Fail(failure=WriteFailure.LOST):
                await self._done(request, write, proceed)
                raise BreakConnection
            case Fail(failure=WriteFailure.ERROR):
                raise InternalError("an error on the server")
            case Fail(failure=WriteFailure.CONFLICT):
                await self._change_before(what)
            case _:
                pass
        return await self._done(request, write, proceed)

    async def _done(
        self, request: RecordedRequest, write: WritePoint, proceed: Callable[[], Awaitable[Answer]]
    ) -> Answer:
        answer = await proceed()
        guarded = b'"resourceVersion"' in request.body
        now = self._server.clock.monotonic()
        self.trace.add(Wrote(now, PROGRAM, write, answer.status, is_guarded=guarded))
        return answer

    async def _change_before(self, what: AskedFor) -> None:
        path = what.path
        async with self._server.client() as client:
            group = f".{path.version}.{path.group}" if path.group else ""
            resource = client.resource(f"{path.resource}{group}")
            api = resource(path.namespace) if path.namespace else resource
            now = str(self._server.clock.now())
            await api.patch(path.name, {"metadata": {"annotations": {TOUCHED: now}}})

    def _event(self, request: RecordedRequest, event: SentEvent) -> Delivery:
        what = asked(f"{request.path}?{request.query}")
        if request.user != PROGRAM or event.type not in _OBJECT_EVENTS or what is None:
            return Delivery.PASS
        metadata = event.object.get("metadata") or {}
        point = self._counted.event(event.type, what.resource, metadata)
        now = self._server.clock.monotonic()
        if isinstance(self._strike(point), Delay):
            loop = asyncio.get_running_loop()
            loop.call_later(self._settings.lag_s, self._server.release_watches)
            return Delivery.HOLD
        self.trace.add(Saw(now, PROGRAM, point, event.resource_version, request.number))
        return Delivery.PASS

    def _strike(self, point: WritePoint | EventPoint) -> Fault | None:
        for fault in self._pending:
            if point in (getattr(fault, "write", None), getattr(fault, "event", None)):
                self._pending.remove(fault)
                self.trace.add(Struck(self._server.clock.monotonic(), str(fault)))
                return fault
        return None


@asynccontextmanager
async def exploring_processes(
    commands: ExploredCommands, settings: Settings, folder: Path, manifests: Path | None = None
) -> AsyncIterator[ProcessExploration]:
    """A server for it with TLS, its keys in ``folder``, and ``manifests`` there from the start."""
    config = ServerConfig(data_dir=folder, tls=True, kubeconfig=folder / "kubeconfig")
    async with running_server(config, in_memory=True) as server:
        if manifests is not None:
            await server.load(manifests)
        own = folder / "program.kubeconfig"
        await server.kubeconfig_as(own, PROGRAM, groups=(_ADMINISTRATORS,))
        yield ProcessExploration(server, commands, settings, own)


def _end_of(output: str) -> str:
    return "\n".join(output.splitlines()[-_OUTPUT_LINES:])
