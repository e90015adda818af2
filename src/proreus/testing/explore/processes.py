"""Exploring programs of any language: processes of their own, which are given a kubeconfig.

    proreus explore --program ./controller.sh -- kubectl apply -f website.yaml

The program is started anew for each run, and ended after it; workloads are commands that end by
themselves. Time is real, so a plan takes seconds. Faults strike at the server's hooks
(``perturbed_server``) and at the process (``process_program``).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from proreus.aio.tasks import background
from proreus.server.config import ServerConfig
from proreus.testing.explore.faults import Delay, Fail, Fault, Hide, Plan, Repeat
from proreus.testing.explore.history import RunHistory
from proreus.testing.explore.normalization import chance_in
from proreus.testing.explore.outcome import (
    Learned,
    PlanRun,
    Report,
    Unusable,
    check_undisturbed,
    chosen,
    finding_in,
)
from proreus.testing.explore.perturbed_server import PerturbedServer
from proreus.testing.explore.planning import among, plans_for
from proreus.testing.explore.process_program import PROGRAM, ProcessUnderTest, end_of
from proreus.testing.explore.settings import Settings
from proreus.testing.explore.state import violations
from proreus.testing.explore.stored_objects import StoredObjects
from proreus.testing.explore.trace import Settled
from proreus.testing.program import running_program
from proreus.testing.server import RunningServer, running_server

_ADMINISTRATORS = "system:masters"

Progress = Callable[[Plan, bool], None]
Command = Sequence[str]


@dataclass(frozen=True, slots=True)
class ExploredCommands:
    """``program`` is explored and runs beside the ``workloads``, which end; after each of them it
    comes to rest. Without a program it is the workloads that are explored; then nothing crashes."""

    workloads: Sequence[Command]
    program: Command = ()


class ProcessExploration:
    """Of one set of commands, on one server. ``settings.quiet_s`` is of real time."""

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

    async def report(self, progress: Progress, only: Sequence[str] = ()) -> Report:
        """``progress`` is called after each plan, with whether it made a difference. ``only``: the
        names of plans; empty: all."""
        learned = await self._learn()
        report = Report(planned=len(learned.plans))
        plans = [_named(name, learned.plans) for name in only]
        for plan in plans or chosen(learned.plans, self._settings):
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
        return Learned(tuple(usable), runs[1], chance_in(runs[0].end, runs[1].end))

    def _can_do(self, fault: Fault) -> bool:
        return bool(self._commands.program) or isinstance(fault, Fail | Delay | Hide | Repeat)

    async def _run(self, plan: Plan) -> PlanRun:
        server, settings = self._server, self._settings
        history = RunHistory(server.api.parts.storage, self._reader)
        failure: BaseException | None = None
        async with server.fork(), background(history.run()):
            await history.wait_open()
            views = [history.revision]
            program = ProcessUnderTest(
                self._commands.program, self._kubeconfig, server, history, plan, settings, views
            )
            with PerturbedServer(server, program).hooked():
                async with background(program.run()):
                    try:
                        await self._work_beside(program, history, views)
                        program.check()
                    except AssertionError as error:
                        failure = error
            end = await history.end(settings.counts)
            gone = await history.gone(settings.counts)
        broken = violations(history.beginning(), history.changes(), settings.invariants)
        return PlanRun(program.seam.trace, tuple(end), tuple(gone), tuple(broken), failure)

    async def _work_beside(
        self, program: ProcessUnderTest, history: RunHistory, views: list[int]
    ) -> None:
        await program.wait_at_work()
        for command in self._commands.workloads:
            await self._work(command)
            await _until_quiet(program)
            program.seam.trace.add(Settled(self._server.clock.monotonic(), len(views)))
            views.append(history.revision)
            if program.restart_stale(len(views) - 1):
                await _until_quiet(program)
        if program.seam.release(awaited=True):  # nothing is held back in the end
            await _until_quiet(program)

    async def _work(self, command: Command) -> None:
        own = self._kubeconfig if not self._commands.program else self._server.kubeconfig
        limit_s = self._settings.patience_s
        try:
            async with (
                asyncio.timeout(limit_s),
                running_program(*command, kubeconfig=own) as running,
            ):
                code = await running.wait()
        except TimeoutError as late:
            raise AssertionError(f"the workload has not ended within {limit_s:g} s") from late
        except OSError as error:
            raise AssertionError(f"the workload cannot be started: {error}") from error
        assert code == 0, f"the workload ended with {code}: {end_of(running.output)}"


def _named(name: str, plans: Sequence[Plan]) -> Plan:
    found = among(plans, name)
    if found is None:
        known = "\n  ".join(map(str, plans))
        raise Unusable(
            f"there is no plan {name!r}; the program's writes and events allow\n  {known}"
        )
    return found


async def _until_quiet(program: ProcessUnderTest) -> None:
    while True:
        await program.wait_at_work()
        await program.wait_quiet()
        if not program.is_busy and not program.seam.release(awaited=False):
            return


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
