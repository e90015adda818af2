"""Compiles checked expressions: a tree becomes nested functions once, called per value.

Costs are counted in Kubernetes' units, and a run ends when its limit is passed. A unit takes a
tenth of a microsecond or two, so that the largest run allowed, a million, takes a fraction of a
second.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, assert_never

from proreus.lazy_dataclass import dataclass
from proreus.server.cel import steps
from proreus.server.cel.checker import OLD, Checker, is_optional_old
from proreus.server.cel.functions.operators import NO_OVERLOAD
from proreus.server.cel.initializers import MadeObject
from proreus.server.cel.loops import Fold, Quantifier
from proreus.server.cel.names import unescaped
from proreus.server.cel.pace import CostPace, unhurried
from proreus.server.cel.shapes import ValueShape
from proreus.server.cel.steps import CostExceeded, Run, Step
from proreus.server.cel.syntax import (
    Call,
    Comprehension,
    Constant,
    Identifier,
    MakeList,
    MakeMap,
    Node,
    Select,
    Type,
)
from proreus.server.cel.values import EvaluationError, TypeValue


@dataclass(frozen=True, slots=True)
class Evaluation:
    cost: int
    value: Any = None
    error: str = ""  # not empty: there is no value


class Program:
    """An expression ready to run on values."""

    __slots__ = ("_slots", "_step")

    def __init__(self, node: Node, checker: Checker) -> None:
        """``checker``: the one that checked ``node``."""
        compiler = _Compiler(checker.objects, len(checker.variables))
        self._step = compiler.step(node, {name: at for at, name in enumerate(checker.variables)})
        self._slots = compiler.slots - len(checker.variables)

    def run(self, values: Sequence[Any], limit: int, pace: CostPace | None = None) -> Evaluation:
        """``values``: of the checker's variables. Raises CostExceeded, PaceExceeded."""
        run = Run(values, limit, self._slots, pace or unhurried())
        result, failed = None, ""
        try:
            result = self._step(run)
        except EvaluationError as error:
            failed = str(error)
        except RecursionError:
            failed = "expression is nested too deep"
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            # Values of no declared type, where nothing looked at what they are.
            failed = NO_OVERLOAD
        if run.spent > limit:
            raise CostExceeded
        run.report_cost()
        return Evaluation(run.spent, result, failed)


class _Compiler:
    def __init__(self, objects: Mapping[str, ValueShape], slots: int) -> None:
        """``objects``: the shapes behind the names of object types."""
        self._objects = objects
        self.slots = slots

    def step(self, node: Node, names: Mapping[str, int]) -> Step:
        match node:
            case Constant():
                value = node.value
                return lambda run: value
            case Identifier():
                return self._identifier(node, names)
            case Select():
                return self._select(node, names)
            case Call():
                return self._call(node, names)
            case MakeList():
                return self._list(node, names)
            case MakeMap():
                return self._map(node, names)
            case Comprehension():
                return self._comprehension(node, names)
            case _:
                assert_never(node)

    def _identifier(self, node: Identifier, names: Mapping[str, int]) -> Step:
        slot = names.get(node.name)
        if slot is not None:
            is_accumulator = node.name.startswith("@")
            return steps.accumulator(slot) if is_accumulator else steps.variable(slot)
        value = TypeValue(node.name)
        return lambda run: value

    def _field(self, operand: Type, field: str) -> str:
        """A field's name in JSON."""
        if operand.name == "optional_type" and operand.parameters:
            operand = operand.parameters[0]
        shape = self._objects.get(operand.name)
        if shape is None:
            return field
        found = shape.fields.get(field) or shape.fields.get(f"__{field}__")  # a reserved word
        return field if found is None else found.name

    def _is_object(self, kind: Type) -> bool:
        if kind.name == "optional_type" and kind.parameters:
            kind = kind.parameters[0]
        return kind.name in self._objects

    def _select(self, node: Select, names: Mapping[str, int]) -> Step:
        operand = self.step(node.operand, names)
        field = self._field(node.operand.type, node.field)
        if node.operand.type.name == "dyn":
            odd = unescaped(field)
            if odd != field:
                return steps.escaped_select(operand, field, odd, is_test=node.is_test)
        if self._is_object(node.operand.type):
            operand = steps.without_null(operand, field)
        if node.is_test:
            return steps.presence(operand, field)
        return steps.selection(operand, field, node.field)

    def _call(self, node: Call, names: Mapping[str, int]) -> Step:
        if is_optional_old(node):
            return steps.variable(names[OLD])
        special = steps.SPECIAL.get(node.function)
        if special is not None:
            return special(*(self.step(one, names) for one in node.operands))
        operands = [self.step(one, names) for one in node.operands]
        if node.function == "_?._":
            key = node.arguments[1]
            assert isinstance(key, Constant)
            name = self._field(node.arguments[0].type, key.value)
            operands[1] = lambda run: name
            if self._is_object(node.arguments[0].type):
                operands[0] = steps.without_null(operands[0], name)
        return steps.called(node.function, operands)

    def _list(self, node: MakeList, names: Mapping[str, int]) -> Step:
        elements = [self.step(one, names) for one in node.elements]
        if not node.optional:
            return steps.plain_list(elements)
        optional = [at in node.optional for at in range(len(elements))]

        def make(run: Run) -> list[Any]:
            run.charge(steps.MAKE_LIST)
            found: list[Any] = []
            for element, is_optional in zip(elements, optional, strict=True):
                value = element(run)
                if not is_optional:
                    found.append(value)
                elif value.has_value:
                    found.append(value.value)
            return found

        return make

    def _map(self, node: MakeMap, names: Mapping[str, int]) -> Step:
        entries = [
            (self.step(one.key, names), self.step(one.value, names), one.is_optional)
            for one in node.entries
        ]

        type_name = node.message
        cost = steps.MAKE_OBJECT if type_name else steps.MAKE_MAP

        def make(run: Run) -> dict[Any, Any]:
            run.charge(cost)
            found: dict[Any, Any] = {}
            for key, value, is_optional in entries:
                name, item = key(run), value(run)
                if is_optional:
                    if not item.has_value:
                        continue
                    item = item.value
                found[name] = item
            return MadeObject(type_name, found) if type_name else found

        return make

    def _comprehension(self, node: Comprehension, names: Mapping[str, int]) -> Step:
        over = self.step(node.range, names)
        accumulator = self.slots
        self.slots += 3
        outside = {**names, node.accumulator: accumulator}
        inside = {**outside, node.variable: accumulator + 1}
        if node.second:
            inside[node.second] = accumulator + 2
        if isinstance(node.condition, Constant) and node.condition.value is False:
            initial, result = self.step(node.initial, names), self.step(node.result, outside)
            return steps.binding(initial, accumulator, result)
        loop: Quantifier | Fold
        if _is_quantifier(node):
            assert isinstance(node.step, Call)
            body = self.step(node.step.arguments[1], inside)
            by = node.step.function == "_||_"
            loop = Quantifier(over, body, accumulator + 1, by=by)
        else:
            always = isinstance(node.condition, Constant)
            loop = Fold(
                over,
                self.step(node.initial, names),
                None if always else self.step(node.condition, inside),
                self._accumulation(node, inside) or self.step(node.step, inside),
                self.step(node.result, outside),
                accumulator,
            )
        return loop.pairs if node.second else loop.singles

    def _accumulation(self, node: Comprehension, names: Mapping[str, int]) -> Step | None:
        """``result + [x]`` as an append: the list is the loop's own, and copying is quadratic."""
        step, test = node.step, None
        if isinstance(step, Call) and step.function == "_?_:_" and _is(step.arguments[2], node):
            test, step = self.step(step.arguments[0], names), step.arguments[1]
        if not (
            isinstance(node.initial, MakeList)
            and isinstance(step, Call)
            and step.function == "_+_"
            and _is(step.arguments[0], node)
            and isinstance(made := step.arguments[1], MakeList)
            and len(made.elements) == 1
            and not made.optional
        ):
            return None
        element, slot = self.step(made.elements[0], names), names[node.accumulator]

        def append(run: Run) -> Any:
            found = run.slots[slot]
            if found.__class__ is steps.Failure:
                raise found.error
            if test is None or steps.truth(test(run)):
                value = element(run)
                run.charge(steps.MAKE_LIST + 2)
                found.append(value)
            else:
                run.spent += 1
            return found

        return append


def _is_quantifier(node: Comprehension) -> bool:
    """``all``: true && …, while it is not false; ``exists``: false || …, while it is not true."""
    step, condition = node.step, node.condition
    return (
        isinstance(step, Call)
        and step.function in ("_&&_", "_||_")
        and isinstance(node.initial, Constant)
        and node.initial.value is (step.function == "_&&_")
        and _is(step.arguments[0], node)
        and _is(node.result, node)
        and isinstance(condition, Call)
        and condition.function == "@not_strictly_false"
    )


def _is(node: Node, loop: Comprehension) -> bool:
    return isinstance(node, Identifier) and node.name == loop.accumulator
