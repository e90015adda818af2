"""Where a program under test meets its server, and which faults are still to strike there.

A ``Seam`` is of one program in one run; each start of the program is an ``Incarnation``. One that
is dead or frozen gets no answer and no event any more, and can send nothing: whatever still runs of
it is without effect. ``perturbed_transport`` and ``perturbed_watch`` ask it what goes wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, assert_never

from proreus.aio.clock import Clock
from proreus.aio.gate import Gate
from proreus.testing.explore.faults import (
    Crash,
    Delay,
    Fail,
    Fault,
    Hide,
    LeaderChange,
    Plan,
    Repeat,
    Stale,
)
from proreus.testing.explore.points import Counted, EventPoint, WritePoint
from proreus.testing.explore.settings import Settings
from proreus.testing.explore.trace import Struck, Trace


@dataclass(frozen=True, slots=True)
class StaleView:
    """The revision that an API server that is behind shows, until it has caught up."""

    revision: int
    caught_up: Gate


class Acts(Protocol):
    """What faults do beyond the wire: to processes."""

    def crash(self, incarnation: Incarnation, stale: Stale | None) -> None: ...

    def change_leader(self, incarnation: Incarnation) -> None: ...


class Incarnation:
    """One start of a program."""

    def __init__(self, view: StaleView | None = None) -> None:
        self.view = view
        self._running = Gate(is_open=True)

    def stop(self) -> None:
        """It is dead, or frozen until ``resume``."""
        self._running.shut()

    def resume(self) -> None:
        self._running.open()

    async def wait_running(self) -> None:
        """For ever, if it is dead: a task that waits here ends by cancellation."""
        await self._running.wait_open()


class Seam:
    """``pending`` are the faults that have not struck yet."""

    def __init__(
        self, who: str, plan: Plan, trace: Trace, clock: Clock, acts: Acts, settings: Settings
    ) -> None:
        self.who = who
        self.trace = trace
        self.clock = clock
        self.acts = acts
        self.lag_s = settings.lag_s
        self._writes_left = settings.writes_max
        self.counted = Counted()
        self.pending: list[Fault] = list(plan.faults)
        self.holding: dict[Hide, Callable[[], None]] = {}  # how to let go of what is hidden
        self.streams = 0

    @property
    def is_exhausted(self) -> bool:
        """It has written so often that it will not stop: no further write is sent."""
        return self._writes_left <= 0

    def at_write(self, write: WritePoint) -> Fault | None:
        self._writes_left -= 1
        for fault in self.pending:
            match fault:
                case Crash(target) | Fail(target) | LeaderChange(target) | Stale(_, target):
                    if target == write:
                        return self._strike(fault)
                case Delay() | Hide() | Repeat():
                    pass
                case _:
                    assert_never(fault)
        return None

    def at_event(self, event: EventPoint) -> Delay | Hide | Repeat | None:
        for fault in self.pending:
            if isinstance(fault, Delay | Hide | Repeat) and fault.event == event:
                self._strike(fault)
                return fault
        return None

    def at_quiet(self, number: int) -> Stale | None:
        for fault in self.pending:
            if isinstance(fault, Stale) and fault.at == number:
                self._strike(fault)
                return fault
        return None

    def release(self, *, awaited: bool) -> bool:
        """Let hidden events through whose successors will not come by themselves, or all of them
        (``awaited``); whether there were any."""
        ready = [fault for fault in self.holding if awaited or not fault.is_awaited]
        for fault in ready:
            self.holding.pop(fault)()
        return bool(ready)

    def note(self, what: str) -> None:
        self.trace.add(Struck(self.clock.monotonic(), what))

    def _strike(self, fault: Fault) -> Fault:
        self.pending.remove(fault)
        self.note(str(fault))
        return fault
