"""Loops: what the macros ``all``, ``exists``, ``map`` and ``filter`` become."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from proreus.lazy_dataclass import dataclass
from proreus.server.cel.functions.overloads import no_range
from proreus.server.cel.steps import Failure, Run, Step, truth
from proreus.server.cel.values import EvaluationError


def _over(value: Any, *, pairs: bool = False) -> list[Any] | dict[Any, Any]:
    if isinstance(value, list | dict):
        return value
    raise EvaluationError(no_range(value, pairs=pairs))


def _pairs(value: Any) -> Iterable[tuple[Any, Any]]:
    items = _over(value, pairs=True)
    return items.items() if isinstance(items, dict) else enumerate(items)


@dataclass(frozen=True, slots=True, eq=False)
class Fold:
    """Any loop. Errors of a step are kept: ``false && error`` is still false.

    Variables stand behind the accumulator; without a condition all elements are taken.
    """

    over: Step
    initial: Step
    condition: Step | None
    step: Step
    result: Step
    accumulator: int

    def singles(self, run: Run) -> Any:
        items = _over(self.over(run))
        slots, at = run.slots, self.accumulator
        slots[at] = self.initial(run)
        for slots[at + 1] in items:
            if not self._turn(run):
                break
        return self.result(run)

    def pairs(self, run: Run) -> Any:
        items = _pairs(self.over(run))
        slots, at = run.slots, self.accumulator
        slots[at] = self.initial(run)
        for slots[at + 1], slots[at + 2] in items:
            if not self._turn(run):
                break
        return self.result(run)

    def _turn(self, run: Run) -> bool:
        if self.condition is not None and self.condition(run) is False:
            return False
        try:
            run.slots[self.accumulator] = self.step(run)
        except EvaluationError as error:
            run.slots[self.accumulator] = Failure(error)
        if run.spent > run.limit:
            run.pass_limit()
        return True


class Quantifier:
    """``all`` and ``exists`` without their accumulator: the first element that decides ends it."""

    __slots__ = ("_body", "_by", "_first", "_over", "_turn_cost")

    def __init__(self, over: Step, body: Step, first: int, *, by: bool) -> None:
        self._over = over
        self._body = body
        self._first = first
        self._by = by
        self._turn_cost = 4 if by else 3  # reading and testing the accumulator that is not there

    def singles(self, run: Run) -> Any:
        return self._decide(run, ((item, None) for item in _over(self._over(run))))

    def pairs(self, run: Run) -> Any:
        return self._decide(run, _pairs(self._over(run)))

    def _decide(self, run: Run, items: Iterable[tuple[Any, Any]]) -> Any:
        body, by, slots, at = self._body, self._by, run.slots, self._first
        failed: EvaluationError | None = None
        for slots[at], slots[at + 1] in items:
            run.spent += self._turn_cost
            try:
                value = body(run)
                if value is by:
                    return by
                if value is not (not by):
                    truth(value)
            except EvaluationError as error:
                failed = error
            if run.spent > run.limit:
                run.pass_limit()
        if failed is not None:
            raise failed
        return not by
