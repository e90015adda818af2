"""Matching the texts of one object with the patterns of its schema.

A pattern takes time linear in the text, times its own size. On the loop an object's matches may
take some milliseconds, then ``PaceExceeded`` is raised; in a thread some seconds, then
``TooMuchWork``.
"""

from __future__ import annotations

from proreus.server.cel.pace import CostPace
from proreus.server.regular_expressions import compiled

STEPS_MAX = 250_000_000  # per object: some seconds at worst, for RE2 takes about 25 ns each
_STEPS_PER_UNIT = 50  # a unit of pace is about 150 ns, and steps are usually far shorter
_UNITS_PER_MATCH = 10


class TooMuchWork(Exception):
    """All patterns of an object together take too long on its texts."""


class Matching:
    """``is_found`` for the values of one object."""

    __slots__ = ("_pace", "_steps_left")

    def __init__(self, pace: CostPace) -> None:
        self._pace = pace
        self._steps_left = STEPS_MAX

    def is_found(self, pattern: str, text: str) -> bool:
        """Raises InvalidExpression, TooMuchWork, PaceExceeded."""
        expression = compiled(pattern)
        steps = expression.steps(text)
        self._steps_left -= steps
        if self._steps_left < 0:
            raise TooMuchWork
        self._pace.spend(_UNITS_PER_MATCH + steps // _STEPS_PER_UNIT)
        return expression.is_found(text)
