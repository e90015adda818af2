"""A part that is started again when it dies, and of which one can ask whether it is at work."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable

from proreus.aio.backoff import Backoff
from proreus.aio.clock import Clock
from proreus.aio.tasks import supervise

_log = logging.getLogger(__name__)
NOT_FINISHED = "not finished"  # as Kubernetes says of what has not begun to work
Worked = Callable[[], None]


class SupervisedPart:
    """``run`` calls what it is given each time it has done its work. ``fault``: why the part is not
    at work, "" if it is."""

    def __init__(self, name: str, run: Callable[[Worked], Awaitable[None]], clock: Clock) -> None:
        self._name = name
        self._run = run
        self._clock = clock
        self._fault = NOT_FINISHED
        self._has_begun = False

    def idleness(self) -> str:
        """Why nobody runs the part, "" if it runs or waits to be started again: then a new process
        could do no better."""
        return "" if self._has_begun else NOT_FINISHED

    def fault(self) -> str:
        return self._fault

    async def run(self) -> None:
        """For ever."""
        self._has_begun = True
        await supervise(
            self._name,
            lambda: self._run(self._worked),
            clock=self._clock,
            backoff=Backoff(self._clock),
            died=self._died,
        )

    def _worked(self) -> None:
        self._fault = ""

    def _died(self, name: str, why: BaseException | None, delay_s: float) -> None:
        self._fault = f"{NOT_FINISHED}: {why}" if why is not None else NOT_FINISHED
        _log.error("part died, restarting: part=%s delay_s=%.1f", name, delay_s, exc_info=why)

    def __repr__(self) -> str:
        return f"<SupervisedPart {self._name}: {self._fault or 'at work'}>"
