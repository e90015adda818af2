"""What a test under exploration gets: a server, a client, and programs that can be killed.

    async def test_database(world: World) -> None:
        world.run(operator)                     # async def operator(client: Client) -> None
        await world.client.resource("databases.example.com")("default").create(…)
        await world.settle()

Everything runs in one loop with virtual time. The programs' requests and watches go through their
``Seam``; the test's own, and those of programs that run ``beside``, do not.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

from proreus.client import Client, ClientConfig
from proreus.net.client.connectors import Route
from proreus.net.client.in_process import InProcessHttp
from proreus.net.client.transport import Transport
from proreus.testing.explore.faults import Plan
from proreus.testing.explore.history import RunHistory
from proreus.testing.explore.program import ProgramUnderTest, RunProgram
from proreus.testing.explore.settings import Settings
from proreus.testing.explore.trace import Settled, Trace
from proreus.testing.explore.virtual_loop import LoopClock
from proreus.testing.server import RunningServer


class NotSettled(AssertionError):
    """Something is written again and again."""


class World:
    """One run. ``client`` is the test's own, the administrator's; ``clock`` the time of all."""

    def __init__(
        self,
        server: RunningServer,
        history: RunHistory,
        clock: LoopClock,
        plan: Plan,
        settings: Settings,
    ) -> None:
        self.server = server
        self.clock = clock
        self.trace = Trace()
        self.client = Client(self.config(), clock=clock)
        self._history = history
        self._plan = plan
        self._settings = settings
        self._views: list[int] = []
        self.programs: list[ProgramUnderTest] = []
        self._beside: list[asyncio.Task[None]] = []

    def config(self) -> ClientConfig:
        """How a client reaches the server without a socket."""

        def transport(route: Route) -> Transport:
            return InProcessHttp(self.server.api.parts.http, route.permit)

        return replace(self.server.config(), transport=transport)

    def run(self, program: RunProgram, name: str = "program") -> None:
        """Start what is under test; it runs until the end of the test, crashes included. It is
        called anew for each start, with a client of its own."""
        started = ProgramUnderTest(
            name, program, self.config(), self.clock, self.trace, self._plan, self._settings,
            self._history, self._views,
        )  # fmt: skip
        self.programs.append(started)
        started.start()

    def beside(self, program: RunProgram) -> None:
        """Start a program in which nothing goes wrong: a scheduler, a kubelet."""

        async def run() -> None:
            async with Client(self.config(), clock=self.clock) as client:
                await program(client)

        self._beside.append(asyncio.get_running_loop().create_task(run(), name="beside"))

    async def settle(self) -> None:
        """Until nothing was written for ``quiet_s`` of virtual time. Raises NotSettled."""
        await self._until_quiet(hidden_too=False)
        quiet = len(self._views)
        self._views.append(self._history.revision)
        self.trace.add(Settled(self.clock.monotonic(), quiet))
        for program in self.programs:
            if program.restart_stale(quiet):
                await self._until_quiet(hidden_too=False)

    async def begin(self) -> None:
        """Called before the test."""
        await self._history.wait_open()
        self._views.append(self._history.revision)

    async def finish(self) -> None:
        """Called after the test: nothing is held back any more."""
        await self._until_quiet(hidden_too=True)

    async def close(self) -> None:
        for task in self._beside:
            task.cancel()
        for program in self.programs:
            await program.end()
        if self._beside:
            await asyncio.wait(self._beside)
        await self.client.close()

    async def _until_quiet(self, *, hidden_too: bool) -> None:
        began_at, settings = self.clock.monotonic(), self._settings
        while True:
            for program in self.programs:
                program.raise_if_failed()
            before = self._history.count
            await self.clock.sleep(settings.quiet_s)
            is_busy = any(program.is_acting for program in self.programs)
            if not is_busy and self._history.count == before:
                released = [one.seam.release(awaited=hidden_too) for one in self.programs]
                if not any(released):
                    break
            elif self.clock.monotonic() - began_at > settings.patience_s:
                raise NotSettled(f"it has not settled within {settings.patience_s:g} s")


Test = Callable[[World], Awaitable[None]]
