"""Learn, plan, run, compare: the driver. Start reading here.

    undisturbed run (twice) → trace, end, chance → plans → one run each → findings

Each run begins in the same state: the server's is set back, its calendar too.
"""

from __future__ import annotations

import asyncio
import gc
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from proreus.aio.tasks import background
from proreus.client import Client
from proreus.server.checkpoints import Checkpoints
from proreus.server.config import ServerConfig
from proreus.testing.explore.faults import Plan
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
from proreus.testing.explore.planning import among, plans_for
from proreus.testing.explore.report import Finding
from proreus.testing.explore.rewinding import Rewinding
from proreus.testing.explore.settings import Settings
from proreus.testing.explore.shrinking import shrunk
from proreus.testing.explore.state import violations
from proreus.testing.explore.stored_objects import StoredObjects
from proreus.testing.explore.virtual_loop import LoopClock, ServerClock
from proreus.testing.explore.world import Test, World
from proreus.testing.server import RunningServer, running_server

Given = Callable[[Client], Awaitable[object]]


class Exploration:
    """Of one test, on one server that runs in this loop, a ``VirtualLoop``."""

    def __init__(
        self,
        server: RunningServer,
        clocks: tuple[LoopClock, ServerClock],
        test: Test,
        settings: Settings,
    ) -> None:
        self._server = server
        self._clock = clocks[0]
        self._test = test
        self._settings = settings
        self._reader = StoredObjects(server.api.catalog)
        parts = server.api.parts
        checkpoints = Checkpoints(parts.caches, parts.http, parts.instruments.memory)
        self._rewinding = Rewinding(checkpoints, clocks)

    async def mark(self) -> None:
        """The present state is where every run begins."""
        await self._rewinding.mark()

    async def report(self, only: str = "", *, undisturbed: bool = False) -> Report:
        """``only``: the name of one plan; empty: all. ``undisturbed``: of none."""
        if undisturbed:
            check_undisturbed(await self.run(Plan(())))
            return Report()
        learned = await self.learn()
        report = Report(planned=len(learned.plans))
        if only:
            plan = among(learned.plans, only)
            if plan is None:
                raise Unusable(f"there is no plan {only!r} for this test; it made other writes")
            await self._try(plan, learned, report)
            return report
        for plan in chosen(learned.plans, self._settings):
            await self._try(plan, learned, report)
            if len(report.findings) >= self._settings.findings_max:
                break
        return report

    async def learn(self) -> Learned:
        first = await self.run(Plan(()))
        check_undisturbed(first)
        second = await self.run(Plan(()))
        check_undisturbed(second)
        programs = dict.fromkeys(one.who for one in second.trace.entries if hasattr(one, "who"))
        plans = [plan for who in programs for plan in plans_for(second.trace, who)]
        return Learned(tuple(plans), second, chance_in(first.end, second.end))

    async def run(self, plan: Plan) -> PlanRun:
        await self._rewinding.rewind()
        history = RunHistory(self._server.api.parts.storage, self._reader)
        strangers = asyncio.all_tasks()
        failure: BaseException | None = None
        random.seed(self._settings.seed)
        async with background(history.run()):
            world = World(self._server, history, self._clock, plan, self._settings)
            try:
                await world.begin()
                await self._test(world)
                await world.finish()
            except Exception as error:  # whatever a test raises is what was found
                failure = error
            end = await history.end(self._settings.counts)
            gone = await history.gone(self._settings.counts)
            await world.close()
        await _end_left(strangers)
        invariants = self._settings.invariants
        broken = (
            violations(history.beginning(), history.changes(), invariants) if invariants else ()
        )
        return PlanRun(world.trace, tuple(end), tuple(gone), tuple(broken), failure)

    def found(self, plan: Plan, run: PlanRun, learned: Learned) -> Finding | None:
        """Compare a run with what is expected."""
        return finding_in(plan, run, learned)

    async def _try(self, plan: Plan, learned: Learned, report: Report) -> None:
        found = await self._finding(plan, learned)
        report.run_count += 1
        if found is not None and len(plan.faults) > 1:

            async def still_fails(smaller: Plan) -> bool:
                return await self._finding(smaller, learned) is not None

            plan = await shrunk(plan, still_fails)
            found = await self._finding(plan, learned) or found
        if found is not None:
            report.findings.append(found)

    async def _finding(self, plan: Plan, learned: Learned) -> Finding | None:
        return self.found(plan, await self.run(plan), learned)


@asynccontextmanager
async def exploring(
    test: Test, settings: Settings, given: Given | None = None
) -> AsyncIterator[Exploration]:
    """A server for it, with what ``given`` makes there. Needs a ``VirtualLoop``."""
    clock = LoopClock(asyncio.get_running_loop())
    seldom = ServerClock(asyncio.get_running_loop())
    async with running_server(ServerConfig(has_threads=False), seldom) as server:
        if given is not None:
            async with server.client(clock=clock) as client:
                await given(client)
        # What is there by now stays: looking through it again and again takes a tenth of the time.
        gc.freeze()
        try:
            exploration = Exploration(server, (clock, seldom), test, settings)
            await exploration.mark()
            yield exploration
        finally:
            gc.unfreeze()


async def _end_left(before: set[asyncio.Task[object]]) -> None:
    """Tasks that programs started and left behind must not reach into the next run."""
    left = [task for task in asyncio.all_tasks() if task not in before]
    left = [task for task in left if task is not asyncio.current_task()]
    for task in left:
        task.cancel()
    if left:
        await asyncio.wait(left, timeout=1.0)
