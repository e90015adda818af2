"""Running a schema's rules over an object, with its old state for transition rules.

All rules of one validation share a budget and each has a limit, in Kubernetes' cost units; when
either runs out no further rule is run.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, NoReturn

from proreus.api import field_error
from proreus.api.field_error import FieldError, Reason
from proreus.api.patch.json_patch import same
from proreus.server.cel.evaluate import Evaluation, Program
from proreus.server.cel.functions.operators import NO_OVERLOAD
from proreus.server.cel.pace import COMPILING, CostPace, unhurried
from proreus.server.cel.steps import CostExceeded
from proreus.server.cel.values import NONE, EvaluationError, Optional, cel_value
from proreus.server.custom.schema.correlation import correlate_items
from proreus.server.custom.schema.field_paths import resolve
from proreus.server.custom.schema.structural import MISSING, Structural
from proreus.server.custom.schema.validation_rules.compiled import (
    CompiledRule,
    CompiledRules,
    NodeRules,
    rules_at,
)

RULE_LIMIT = 1_000_000
BUDGET = 10_000_000
_MESSAGE_BYTES = 5 * 1024
_TIRED = "due to running out of cost budget, no further validation rules will be run"
_DEAR = "no further validation rules will be run due to call cost exceeds limit for"
_CANCELLED = "'operation cancelled: actual cost limit exceeded'"
_BLOCKING = {
    Reason.NOT_SUPPORTED,
    Reason.REQUIRED,
    Reason.TOO_LONG,
    Reason.TOO_MANY,
    Reason.TYPE_INVALID,
}
_UNCHECKED = FieldError(
    "<nil>",
    Reason.INVALID,
    "Invalid value: null: some validation rules were not checked because the object was invalid; "
    "correct the existing errors to complete validation",
)


def blocked_by(errors: list[FieldError]) -> list[FieldError]:
    """Rules run only if types and sizes are valid; the error that says so."""
    return [_UNCHECKED] if any(error.reason in _BLOCKING for error in errors) else []


class SchemaRules:
    """The rules of one schema."""

    __slots__ = ("_places", "_schema")

    def __init__(self, schema: Structural) -> None:
        self._schema = schema
        self._places = CompiledRules()

    def violations(
        self,
        value: Any,
        old: Any = MISSING,
        *,
        is_resource: bool = True,
        budget: int = BUDGET,
        at: str = "",
        pace: CostPace | None = None,
    ) -> list[FieldError]:
        """Of a value, which stands ``at`` some place, and of everything in it.

        What is tolerated because it was so before is marked. Raises PaceExceeded.
        """
        found: list[FieldError] = []
        if self._schema.has_rules:
            walk = _Walk(self._places, found, budget, pace or unhurried())
            with suppress(_Stopped):
                walk.value(value, self._schema, _Old.of(value, old), at, is_resource=is_resource)
        return found


class _Stopped(Exception):
    """No further rules are run."""


_Pair = tuple[Any, Any]  # what a place holds, and what it held


class _Old:
    """The old state of a node of the object.

    ``value`` is what transition rules see: only what correlates. Whether it is unchanged is
    decided more generously, and by the nearest node above if this one is new.
    """

    __slots__ = ("_nearest", "_pair", "_same", "value")

    def __init__(self, value: Any, pair: _Pair | None, nearest: _Pair | None) -> None:
        self.value = value
        self._pair = pair
        self._nearest = nearest
        self._same: bool | None = None

    @classmethod
    def of(cls, value: Any, old: Any) -> _Old:
        return cls(None, None, None) if old is MISSING else cls(old, (value, old), None)

    @property
    def likely(self) -> Any:
        return None if self._pair is None else self._pair[1]

    def is_unchanged(self) -> bool:
        if self._same is None:
            pair = self._pair or self._nearest
            self._same = pair is not None and pair[1] is not None and same(*pair)
        return self._same

    def under(self, part: Any, certain: Any, likely: Any) -> _Old:
        """The old state of a child: for rules, and to decide whether it is unchanged."""
        value = None if certain is MISSING else certain
        if self._pair is None:
            return _Old(value, None, self._nearest)
        return _Old(value, None if likely is MISSING else (part, likely), self._pair)


class _Walk:
    def __init__(
        self, places: CompiledRules, found: list[FieldError], budget: int, pace: CostPace
    ) -> None:
        self._places = places
        self._found = found
        self._budget = budget
        self._pace = pace

    def value(
        self, value: Any, schema: Structural, old: _Old, path: str, *, is_resource: bool = False
    ) -> None:
        if value is None:
            return
        if rules_at(schema):
            if not self._places.has(schema):
                self._pace.spend(COMPILING)
            place = self._places.at(schema, is_resource=is_resource)
            self._evaluate(value, schema, place, old, path)
        if isinstance(value, dict):
            self._fields(value, schema, old, path)
        elif isinstance(value, list) and schema.items is not None and schema.items.has_rules:
            certain = correlate_items(schema, old.value, by_place=False)
            likely = correlate_items(schema, old.likely, by_place=True)
            for index, item in enumerate(value):
                below = old.under(item, certain(index, item), likely(index, item))
                self.value(item, schema.items, below, f"{path}[{index}]")

    def _fields(self, value: dict[str, Any], schema: Structural, old: _Old, path: str) -> None:
        certain = old.value if isinstance(old.value, dict) else {}
        likely = old.likely if isinstance(old.likely, dict) else {}
        for key in sorted(value):
            child, place = schema.properties.get(key), f"{path}.{key}" if path else key
            if child is None and isinstance(schema.values, Structural):
                child, place = schema.values, f"{path}[{key}]"
            if child is not None and child.has_rules:
                was = certain.get(key, MISSING), likely.get(key, MISSING)
                self.value(value[key], child, old.under(value[key], *was), place)

    def _evaluate(
        self, value: Any, schema: Structural, place: NodeRules, old: _Old, path: str
    ) -> None:
        if self._budget <= 0:
            self._stop(path, schema, f"validation failed {_TIRED}")
        try:
            mine, before = cel_value(value, place.shape), cel_value(old.value, place.shape)
        except EvaluationError as error:
            self._found.append(field_error.invalid(path or "<nil>", schema.type, str(error)))
            return
        for rule in place.rules:
            if rule.program is None:
                text = f"rule compile error: {rule.error}"
                self._found.append(field_error.invalid(path or "<nil>", schema.type, text))
                continue
            if rule.is_transition and before is None and not rule.has_optional_old:
                continue
            self._run(rule, value, schema, (mine, before), old, path)

    def _run(
        self,
        rule: CompiledRule,
        value: Any,
        schema: Structural,
        seen: tuple[Any, Any],
        old: _Old,
        path: str,
    ) -> None:
        assert rule.program is not None
        mine, before = seen
        old_value = before
        if rule.has_optional_old:
            old_value = NONE if before is None else Optional(True, before)
        try:
            outcome = self._spend(rule.program, (mine, old_value), path, schema, "validation")
        except CostExceeded:
            what = f"{_DEAR} rule: {_rule_text(rule.raw)}"
            self._stop(path, schema, f"{_CANCELLED}: {what}")
        if outcome.error:
            self._found.append(_failed(rule.raw, schema, path, outcome.error))
        elif outcome.value is not True:
            message = self._message(rule, mine, before, path, schema)
            error = _violation(rule.raw, value, schema, path, message)
            if not rule.is_transition and old.is_unchanged():
                error = replace(error, is_tolerated=True)
            self._found.append(error)

    def _message(
        self, rule: CompiledRule, mine: Any, before: Any, path: str, schema: Structural
    ) -> str:
        plain: str = (
            rule.raw.get("message") or ""
        ).strip() or f"failed rule: {_rule_text(rule.raw)}"
        if rule.message is None or (before is None and rule.has_old_in_message):
            return plain
        try:
            what = "messageExpression evaluation"
            # It sees the old value as it is, also where it was checked as an optional.
            outcome = self._spend(rule.message, (mine, before), path, schema, what)
        except CostExceeded:
            what = f"messageExpression: {field_error.quote(rule.raw['messageExpression'])}"
            self._stop(path, schema, f"{_DEAR} {what}")
        text = outcome.value.strip() if isinstance(outcome.value, str) else ""
        is_fine = text and "\n" not in text and len(text.encode()) <= _MESSAGE_BYTES
        return text if is_fine else plain

    def _spend(
        self, program: Program, seen: tuple[Any, Any], path: str, schema: Structural, what: str
    ) -> Evaluation:
        """Run it and pay for it. Raises CostExceeded."""
        outcome = program.run(seen, RULE_LIMIT, self._pace)
        if outcome.cost > self._budget:
            self._stop(path, schema, f"{what} failed {_TIRED}")
        self._budget -= outcome.cost
        return outcome

    def _stop(self, path: str, schema: Structural, why: str) -> NoReturn:
        self._found.append(field_error.invalid(path or "<nil>", schema.type, why))
        raise _Stopped


def _violation(
    rule: Mapping[str, Any], value: Any, schema: Structural, path: str, message: str
) -> FieldError:
    field = path + (resolve(rule.get("fieldPath") or "", schema) or "")
    field = field.removeprefix(".") or "<nil>"
    match rule.get("reason"):
        case "FieldValueForbidden":
            return field_error.forbidden(field, message)
        case "FieldValueRequired":
            return field_error.required(field, message)
        case "FieldValueDuplicate":
            quoted = "" if isinstance(value, dict | list) else f": {field_error.quote(value)}"
            return FieldError(field, Reason.DUPLICATE, f"Duplicate value{quoted}")
        case _:
            quoted = "" if isinstance(value, dict | list) else f"{field_error.quote(value)}: "
            return FieldError(field, Reason.INVALID, f"Invalid value: {quoted}{message}")


def _failed(rule: Mapping[str, Any], schema: Structural, path: str, why: str) -> FieldError:
    if why.startswith(NO_OVERLOAD):
        text = (
            f"'{why}': call arguments did not match a supported operator, function or macro "
            f"signature for rule: {_rule_text(rule)}"
        )
    else:
        text = f"{why} evaluating rule: {_rule_text(rule)}"
    return field_error.invalid(path or "<nil>", schema.type, text)


def _rule_text(rule: Mapping[str, Any]) -> str:
    return str(rule.get("message") or rule["rule"]).strip()
