"""How much validation may run before the event loop gets its turn, in Kubernetes' cost units.

On the loop an evaluation beyond the limit ends with ``PaceExceeded`` and is repeated in a thread.
There it sleeps regularly: a thread that never waits lets the loop in only every few milliseconds.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Event

COMPILING = 12_000  # the cost of compiling the rules of one place
_UNITS_ON_LOOP = 20_000  # about three milliseconds
_UNITS_ON_THREAD = 8_000
_REST_S = 0.0001
_NEVER = 1 << 62


class PaceExceeded(Exception):
    """The limit of the loop is reached: the work must be made again on a thread."""


class CostPace:
    """``left``: cost units until the next pause."""

    __slots__ = ("_rest", "_units", "left")

    def __init__(self, units: int, rest: Callable[[], None]) -> None:
        self._units = units
        self._rest = rest
        self.left = units

    def spend(self, cost: int) -> None:
        self.left -= cost
        if self.left <= 0:
            self._rest()
            self.left = self._units


def on_loop() -> CostPace:
    """Raises PaceExceeded."""
    return CostPace(_UNITS_ON_LOOP, _give_up)


def on_thread() -> CostPace:
    return CostPace(_UNITS_ON_THREAD, _rest)


def unhurried() -> CostPace:
    """Without a limit."""
    return CostPace(_NEVER, _give_up)


def _rest() -> None:
    Event().wait(_REST_S)  # never set: waiting releases the interpreter's lock


def _give_up() -> None:
    raise PaceExceeded
