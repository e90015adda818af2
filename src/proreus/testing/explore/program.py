"""A program under test: started, killed and started again, frozen while another one leads."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from proreus.aio.gate import Gate
from proreus.client import Client, ClientConfig
from proreus.net.client.connectors import Route
from proreus.net.client.transport import Transport
from proreus.testing.explore.faults import Plan, Stale
from proreus.testing.explore.history import RunHistory
from proreus.testing.explore.perturbed_transport import PerturbedTransport
from proreus.testing.explore.seam import Incarnation, Seam, StaleView
from proreus.testing.explore.settings import Settings
from proreus.testing.explore.trace import Trace
from proreus.testing.explore.virtual_loop import LoopClock

RunProgram = Callable[[Client], Awaitable[object]]
_LEASE_S = 20.0  # longer than anybody's lease lasts
_GRACE_S = 60.0


class ProgramUnderTest:
    """Implements ``seam.Acts``: what faults do to processes."""

    def __init__(  # noqa: PLR0913 - made in one place, by the world
        self,
        name: str,
        run: RunProgram,
        config: ClientConfig,
        clock: LoopClock,
        trace: Trace,
        plan: Plan,
        settings: Settings,
        history: RunHistory,
        views: Sequence[int],
    ) -> None:
        self.name = name
        self._run = run
        self._config = config
        self._clock = clock
        self._settings = settings
        self._history = history
        self._views = views  # the revision of each quiet moment; the first is the beginning
        self._tasks: dict[Incarnation, asyncio.Task[None]] = {}
        self._dying: set[asyncio.Task[None]] = set()
        self._acting: set[asyncio.Task[None]] = set()
        # Faults strike inside the program's own tasks; what they start is no part of it.
        self._context = contextvars.copy_context()
        self.seam = Seam(name, plan, trace, clock, self, settings)

    def start(self, view: StaleView | None = None) -> None:
        incarnation = Incarnation(view)
        task = asyncio.get_running_loop().create_task(
            self._live(incarnation), name=self.name, context=self._context.copy()
        )
        self._tasks[incarnation] = task

    async def _live(self, incarnation: Incarnation) -> None:
        make = self._config.transport
        assert make is not None, "the world's configuration has a transport"

        def transport(route: Route) -> Transport:
            return PerturbedTransport(make(route), self.seam, incarnation)

        config = replace(self._config, transport=transport)
        async with Client(config, clock=self._clock) as client:
            await self._run(client)

    @property
    def is_acting(self) -> bool:
        """A fault goes on."""
        return bool(self._acting)

    def raise_if_failed(self) -> None:
        """What the program raised, if it ended by itself: no fault may make it do so."""
        if self.seam.is_exhausted:
            raise ProgramFailed(f"{self.name} writes again and again, without end")
        for task in self._tasks.values():
            if task.done() and not task.cancelled() and (error := task.exception()) is not None:
                raise ProgramFailed(f"{self.name} ended: {error!r}") from error

    # Acts

    def crash(self, incarnation: Incarnation, stale: Stale | None) -> None:
        incarnation.stop()
        self._act(self._replace(incarnation, stale))

    def change_leader(self, incarnation: Incarnation) -> None:
        incarnation.stop()
        self._act(self._lead_elsewhere(incarnation))

    def restart_stale(self, quiet: int) -> bool:
        """At a quiet moment, if a fault says so; whether one did."""
        fault = self.seam.at_quiet(quiet)
        if fault is None:
            return False
        for incarnation in list(self._tasks):
            self.crash(incarnation, fault)
        return True

    async def _replace(self, incarnation: Incarnation, stale: Stale | None) -> None:
        task = self._tasks.pop(incarnation)
        task.cancel()
        self._dying.add(task)
        await self._clock.sleep(self._settings.restart_s)
        self.seam.note(f"{self.name} starts again")
        if stale is None:
            self.start()
            return
        view = StaleView(self._views[stale.view], Gate())
        self.start(view)
        await self._clock.sleep(self._settings.quiet_s)
        self.seam.note("the API server has caught up")
        view.caught_up.open()

    async def _lead_elsewhere(self, incarnation: Incarnation) -> None:
        self.start()
        self.seam.note(f"{self.name} is frozen, another one starts")
        await self._clock.sleep(_LEASE_S)
        before = -1
        while before != self._history.count:
            before = self._history.count
            await self._clock.sleep(self._settings.quiet_s)
        self.seam.note(f"the first {self.name} goes on")
        incarnation.resume()

    def _act(self, doing: Awaitable[None]) -> None:
        async def act() -> None:
            await doing

        task = asyncio.get_running_loop().create_task(
            act(), name=f"fault of {self.name}", context=self._context.copy()
        )
        self._acting.add(task)
        task.add_done_callback(self._acting.discard)

    # The end

    async def end(self) -> None:
        for act in list(self._acting):
            act.cancel()
        self._dying |= set(self._tasks.values())
        for incarnation, task in self._tasks.items():
            incarnation.resume()
            task.cancel()
        if self._dying:
            _, late = await asyncio.wait(self._dying, timeout=_GRACE_S)
            for task in late:
                task.cancel()
            if late:
                await asyncio.wait(late, timeout=_GRACE_S)


class ProgramFailed(AssertionError):
    """A program ended by itself, or writes without end."""
