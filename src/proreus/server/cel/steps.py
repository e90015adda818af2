"""The compiled steps of an expression: each a function of the run, charged when it runs.

Calls are charged before they run, loops after every turn, so that no value is ever worked on for
longer than the limit allows.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from proreus.server.cel.functions.operators import NO_OVERLOAD, NoOverload, find, index, whole
from proreus.server.cel.functions.operators import TABLE as OPERATORS
from proreus.server.cel.functions.overloads import no_overload, takes
from proreus.server.cel.functions.table import FUNCTIONS
from proreus.server.cel.meter import COSTS
from proreus.server.cel.pace import CostPace
from proreus.server.cel.values import NONE, EvaluationError, Optional

MAKE_LIST, MAKE_MAP, MAKE_OBJECT = 10, 30, 40
_ON_WHOLE_NUMBERS: Mapping[str, Callable[[int, int], Any]] = {
    "_==_": operator.eq,
    "_!=_": operator.ne,
    "_<_": operator.lt,
    "_<=_": operator.le,
    "_>_": operator.gt,
    "_>=_": operator.ge,
    "_+_": lambda left, right: whole(left + right),
    "_-_": lambda left, right: whole(left - right),
    "_*_": lambda left, right: whole(left * right),
}


class CostExceeded(Exception):
    """A run that passed its limit. No part of an expression can go on from it."""


class Failure:
    """An accumulator whose step failed: later elements may still decide."""

    __slots__ = ("error",)

    def __init__(self, error: EvaluationError) -> None:
        self.error = error


class Run:
    """One evaluation: the values it is about, its variables, and what it spent.

    ``limit`` is where ``pass_limit`` is due: the end, or a rest on the way.
    """

    __slots__ = ("_most", "_pace", "_rested_at", "limit", "slots", "spent")

    def __init__(self, values: Sequence[Any], most: int, slots: int, pace: CostPace) -> None:
        self.spent = 0
        self.slots: list[Any] = [*values, *[None] * slots]
        self._most = most
        self._pace = pace
        self._rested_at = 0
        self.limit = min(most, pace.left)

    def charge(self, cost: int) -> None:
        self.spent += cost
        if self.spent > self.limit:
            self.pass_limit()

    def pass_limit(self) -> None:
        """Raises CostExceeded, PaceExceeded."""
        if self.spent > self._most:
            raise CostExceeded
        self.report_cost()
        self.limit = min(self._most, self.spent + self._pace.left)

    def report_cost(self) -> None:
        self._pace.spend(self.spent - self._rested_at)
        self._rested_at = self.spent


Step = Callable[[Run], Any]


class LazyFields:
    """An object whose fields are made when they are first read, at the expense of that run.

    ``make`` gives a field's value and what making it cost; it raises EvaluationError.
    """

    __slots__ = ("_known", "_make")

    def __init__(self, make: Callable[[str], tuple[Any, int]]) -> None:
        self._make = make
        self._known: dict[str, Any] = {}

    def read(self, field: str, run: Run) -> Any:
        if field not in self._known:
            try:
                self._known[field], cost = self._make(field)
            except EvaluationError as error:
                self._known[field], cost = Failure(error), 0
            run.charge(cost)
        value = self._known[field]
        if value.__class__ is Failure:
            raise value.error
        return value


def binding(initial: Step, slot: int, result: Step) -> Step:
    def bind(run: Run) -> Any:
        run.slots[slot] = initial(run)
        return result(run)

    return bind


def variable(slot: int) -> Step:
    def read(run: Run) -> Any:
        run.spent += 1
        return run.slots[slot]

    return read


def accumulator(slot: int) -> Step:
    def read(run: Run) -> Any:
        run.spent += 1
        value = run.slots[slot]
        if value.__class__ is Failure:
            raise value.error
        return value

    return read


def selection(operand: Step, field: str, spelled: str) -> Step:
    """``spelled``: as the expression writes the field's name."""

    def select(run: Run) -> Any:
        value = operand(run)
        run.spent += 1
        if value.__class__ is dict:
            try:
                return value[field]
            except KeyError:
                raise EvaluationError(f"no such key: {spelled}") from None
        if value.__class__ is Optional:
            return find(value, field)
        if value.__class__ is LazyFields:
            return value.read(field, run)
        return index(value, field)

    return select


def without_null(operand: Step, field: str) -> Step:
    """Of an object with declared fields, one that is null is none; in a map it is a value."""

    def held(run: Run) -> Any:
        value = operand(run)
        inner = value.value if value.__class__ is Optional else value
        if inner.__class__ is dict and field in inner and inner[field] is None:
            inner = {name: item for name, item in inner.items() if name != field}
            return Optional(True, inner) if value.__class__ is Optional else inner
        return value

    return held


def presence(operand: Step, field: str) -> Step:
    def test(run: Run) -> bool:
        value = operand(run)
        if value.__class__ is Optional:
            return find(value, field).has_value
        if value.__class__ is dict:
            return field in value
        if value.__class__ is LazyFields:
            return True  # the checker knows its fields
        return find(value, field).has_value

    return test


def escaped_select(operand: Step, field: str, odd: str, *, is_test: bool) -> Step:
    """Of a value whose schema the checker could not say: either spelling may be meant."""

    def name(value: Any) -> str:
        return odd if isinstance(value, dict) and odd in value and field not in value else field

    def select(run: Run) -> Any:
        value = operand(run)
        run.spent += 1
        found = find(value, name(value))
        return found.has_value if is_test else index(value, name(value))

    return select


def plain_list(elements: list[Step]) -> Step:
    def make(run: Run) -> list[Any]:
        run.spent += MAKE_LIST
        return [element(run) for element in elements]

    return make


def called(function: str, operands: list[Step]) -> Step:
    apply = _application(function)
    quick = _ON_WHOLE_NUMBERS.get(function)
    if quick is not None:
        return _on_numbers(quick, apply, operands)
    return lambda run: apply(run, [operand(run) for operand in operands])


def _application(function: str) -> Callable[[Run, list[Any]], Any]:
    work, cost = FUNCTIONS[function], COSTS.get(function)
    is_taken = takes(function)

    def apply(run: Run, values: list[Any]) -> Any:
        if is_taken is not None and not is_taken(values[0]):
            raise EvaluationError(no_overload(function, values))
        try:
            if cost is None:
                run.spent += 1
            else:
                run.charge(cost(*values))
            return work(*values)
        except NoOverload:
            if function not in OPERATORS:
                raise  # an operator that it uses on elements
            raise EvaluationError(no_overload(function, values)) from None
        except (TypeError, AttributeError):
            # Values of no declared type only reveal their type here.
            raise EvaluationError(no_overload(function, values)) from None
        except OverflowError:
            raise EvaluationError("range error") from None

    return apply


def _on_numbers(
    work: Callable[[int, int], Any], apply: Callable[[Run, list[Any]], Any], operands: list[Step]
) -> Step:
    """On whole numbers, which is most of what rules do, without looking further."""
    left, right = operands

    def call(run: Run) -> Any:
        mine, other = left(run), right(run)
        if mine.__class__ is int and other.__class__ is int:
            run.spent += 1
            return work(mine, other)
        return apply(run, [mine, other])

    return call


def truth(value: Any) -> bool:
    if value is True or value is False:
        return bool(value)
    raise EvaluationError(NO_OVERLOAD)


def _decided(left: Step, right: Step, *, by: bool) -> Step:
    """``&&`` and ``||``: the value that decides does so even beside an error."""

    def decide(run: Run) -> Any:
        try:
            value = left(run)
            if value is by:
                return by
            if value is not other:
                raise EvaluationError(NO_OVERLOAD)
        except EvaluationError:
            if right(run) is by:
                return by
            raise
        value = right(run)
        return value if value is by or value is other else truth(value)

    other = not by
    return decide


def _conditional(test: Step, yes: Step, no: Step) -> Step:
    return lambda run: yes(run) if truth(test(run)) else no(run)


def _not_strictly_false(operand: Step) -> Step:
    def test(run: Run) -> bool:
        run.spent += 1
        try:
            return operand(run) is not False
        except EvaluationError:
            return True

    return test


def _inserted(into: Step, *parts: Step) -> Step:
    """``cel.@mapInsert``: one entry, or all of another map, into the loop's own map."""

    def insert(run: Run) -> Any:
        found = into(run)
        values = [part(run) for part in parts]
        new = values[0] if len(values) == 1 else {values[0]: values[1]}
        run.charge(MAKE_MAP + 1)
        for key, value in new.items():
            if key in found:
                raise EvaluationError(f"insert failed: key {key} already exists")
            found[key] = value
        return found

    return insert


def _of(value: Step) -> Step:
    return lambda run: Optional(True, value(run))


def _of_non_zero(value: Step) -> Step:
    def make(run: Run) -> Optional:
        found = value(run)
        return Optional(True, found) if found or isinstance(found, Optional) else NONE

    return make


def _value(operand: Step) -> Step:
    def read(run: Run) -> Any:
        run.spent += 1
        found = operand(run)
        if not found.has_value:
            raise EvaluationError("optional.none() dereference")
        return found.value

    return read


def _or(operand: Step, other: Step, *, is_value: bool) -> Step:
    def read(run: Run) -> Any:
        run.spent += 1
        found = operand(run)
        if not found.has_value:
            return other(run)
        return found.value if is_value else found

    return read


SPECIAL: Mapping[str, Callable[..., Step]] = {
    "_&&_": lambda left, right: _decided(left, right, by=False),
    "_||_": lambda left, right: _decided(left, right, by=True),
    "_?_:_": _conditional,
    "@not_strictly_false": _not_strictly_false,
    "cel.@mapInsert": _inserted,
    "optional.of": _of,
    "optional.none": lambda: lambda run: NONE,
    "optional.ofNonZeroValue": _of_non_zero,
    "hasValue": lambda operand: lambda run: operand(run).has_value,
    "value": _value,
    "or": lambda operand, other: _or(operand, other, is_value=False),
    "orValue": lambda operand, other: _or(operand, other, is_value=True),
}
