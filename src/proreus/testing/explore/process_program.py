"""A program under test in a process of its own: killed and started again, frozen while another one
leads. Time is real."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from pathlib import Path

from proreus.aio.clock import deadline
from proreus.aio.gate import Gate
from proreus.testing.explore.faults import Plan, Stale
from proreus.testing.explore.history import RunHistory
from proreus.testing.explore.planning import LEASES
from proreus.testing.explore.seam import Incarnation, Seam
from proreus.testing.explore.settings import Settings
from proreus.testing.explore.trace import Trace
from proreus.testing.program import RunningProgram, running_program
from proreus.testing.quiet import settle_outside
from proreus.testing.server import RunningServer

PROGRAM = "program"
_OUTPUT_LINES = 10
_ENDS_MAX = 5
_LOOK_S = 0.1  # between two looks at who leads


class ProcessUnderTest:
    """Implements ``seam.Acts``. Its processes live in ``run``; one that ends by itself is started
    again, as in a pod. Which of two processes asked is not known, and need not be: one of them is
    frozen. ``views``: the revision of each quiet moment, the beginning first."""

    def __init__(
        self,
        command: Sequence[str],
        kubeconfig: Path,
        server: RunningServer,
        history: RunHistory,
        plan: Plan,
        settings: Settings,
        views: Sequence[int],
    ) -> None:
        self._command = command
        self._kubeconfig = kubeconfig
        self._server = server
        self._history = history
        self._settings = settings
        self._views = views
        self._processes: dict[Incarnation, RunningProgram] = {}
        self._group: asyncio.TaskGroup | None = None
        self._at_work = Gate()
        self._acting: set[asyncio.Task[None]] = set()
        self._asked = 0
        self._ends_left = _ENDS_MAX if plan.faults else 0  # by itself
        self._failure: AssertionError | None = None
        self.current = Incarnation()
        self.seam = Seam(PROGRAM, plan, Trace(), server.clock, self, settings)

    async def run(self) -> None:
        async with asyncio.TaskGroup() as self._group:
            if self._command:
                self._start()
            await Gate().wait_open()  # until cancelled

    def _start(self) -> None:
        assert self._group is not None, "it runs"
        self._at_work.shut()
        self.current = Incarnation()
        self._group.create_task(self._live(self.current))

    async def _live(self, incarnation: Incarnation) -> None:
        while True:
            try:
                async with running_program(*self._command, kubeconfig=self._kubeconfig) as running:
                    self._processes[incarnation] = running
                    code = await running.wait()
            except OSError as error:
                self._fail(f"the program cannot be started: {error}")
                return
            if self._processes.pop(incarnation, None) is None:
                return  # it was killed
            if self._ends_left <= 0:
                self._fail(f"the program ended with {code}: {end_of(running.output)}")
                return
            self._ends_left -= 1
            if incarnation is self.current:
                self._at_work.shut()
            await self._server.clock.sleep(self._settings.restart_s)

    def _fail(self, why: str) -> None:
        self._failure = AssertionError(why)
        self._at_work.open()  # nobody need wait any longer

    # What it does, seen from the outside

    def has_asked(self, *, is_aside: bool) -> None:
        """``is_aside``: about a Lease or an Event, which may go on for ever."""
        if self.current in self._processes:
            self._at_work.open()
        self._asked += not is_aside

    @property
    def is_busy(self) -> bool:
        """A fault goes on, or it has asked for nothing since it was started."""
        return bool(self._acting) or (bool(self._command) and not self._at_work.is_open)

    async def wait_at_work(self) -> None:
        """Until no fault goes on and it has asked for something. Raises AssertionError."""
        while self._acting:
            await asyncio.wait(self._acting)
        if self._command:
            await self._wait_asked()
        self.check()

    async def wait_quiet(self) -> None:
        """Until nobody has written, and it has asked for nothing, for long enough. Raises
        StillBusy."""
        settings = self._settings
        await settle_outside(
            lambda: (self._asked, self._history.count),
            settings.quiet_s,
            settings.patience_s,
            lambda: map(str, self._server.requests.by(user=PROGRAM).in_flight),
            held_up_s=lambda: sum(one.held_up_s for one in self._processes.values()),
        )

    def check(self) -> None:
        """Raises AssertionError if it ended by itself too often, or will not stop writing."""
        if self._failure is not None:
            raise self._failure
        if self.seam.is_exhausted:
            raise AssertionError("the program writes again and again, without end")

    async def _wait_asked(self) -> None:
        limit_s = self._settings.patience_s
        try:
            async with deadline(self._server.clock, limit_s):
                await self._at_work.wait_open()
        except TimeoutError as late:
            why = f"the program has asked for nothing within {limit_s:g} s"
            raise AssertionError(why) from late

    # Acts

    def crash(self, incarnation: Incarnation, stale: Stale | None) -> None:
        self._at_work.shut()
        if (running := self._processes.pop(incarnation, None)) is not None:
            running.kill()
            self._act(self._start_again(stale))

    def change_leader(self, incarnation: Incarnation) -> None:
        if (running := self._processes.get(incarnation)) is not None:
            incarnation.stop()
            running.freeze()
            self._act(self._lead_elsewhere(incarnation, running))

    def restart_stale(self, quiet: int) -> bool:
        """At a quiet moment, if a fault says so; whether one did."""
        fault = self.seam.at_quiet(quiet)
        if fault is not None:
            self.crash(self.current, fault)
        return fault is not None

    async def _start_again(self, stale: Stale | None) -> None:
        await self._server.clock.sleep(self._settings.restart_s)
        self.seam.note("the program starts again")
        if stale is None:
            self._start()
            return
        with self._server.stale_reads(user=PROGRAM, as_of=self._views[stale.view]):
            self._start()
            await self._wait_asked()
            await self.wait_quiet()
            self.seam.note("the API server has caught up")

    async def _lead_elsewhere(self, incarnation: Incarnation, running: RunningProgram) -> None:
        before = await self._leaders()
        self._start()
        self.seam.note("the program is frozen, another one starts")
        try:
            async with deadline(self._server.clock, self._settings.patience_s):
                while await self._leaders() == before:
                    await self._server.clock.sleep(_LOOK_S)
        except TimeoutError:
            self.seam.note("nobody else leads")
        await self.wait_quiet()
        self.seam.note("the first program goes on")
        running.resume()
        incarnation.resume()

    async def _leaders(self) -> dict[str, str]:
        async with self._server.client() as client:
            leases = await client.resource(LEASES).list()
        return {str(one.uid): str((one.get("spec") or {}).get("holderIdentity")) for one in leases}

    def _act(self, doing: Awaitable[None]) -> None:
        async def act() -> None:
            try:
                await doing
            except AssertionError as failure:
                self._failure = failure

        assert self._group is not None, "it runs"
        task = self._group.create_task(act(), name="fault of the program")
        self._acting.add(task)
        task.add_done_callback(self._acting.discard)


def end_of(output: str) -> str:
    return "\n".join(output.splitlines()[-_OUTPUT_LINES:])
