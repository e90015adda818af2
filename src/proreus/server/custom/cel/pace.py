"""How long rules are run before others get their turn, in Kubernetes' cost units.

On the loop a judgement that is not cheap is given up: it is made again on a thread, where it rests
every now and then, since a thread that never waits lets the loop in only every few milliseconds.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Event

COMPILING = 12_000  # what making a place's programs takes, as running them would
_UNITS_ON_LOOP = 20_000  # about three milliseconds
_UNITS_ON_THREAD = 8_000
_REST_S = 0.0001
_NEVER = 1 << 62


class Paused(Exception):
    """The work took as long as it may where it was begun."""


class Pace:
    """``left`` is how much may be spent until the next rest."""

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


def on_loop() -> Pace:
    """Raises Paused."""
    return Pace(_UNITS_ON_LOOP, _give_up)


def on_thread() -> Pace:
    return Pace(_UNITS_ON_THREAD, _rest)


def unhurried() -> Pace:
    """For whoever works alone."""
    return Pace(_NEVER, _give_up)


def _rest() -> None:
    Event().wait(_REST_S)  # which never happens


def _give_up() -> None:
    raise Paused
