"""Validation of the rules of a schema when it is written: syntax, types, estimated cost."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Any

from proreus.api import field_error
from proreus.api.field_error import FieldError, Reason
from proreus.lazy_dataclass import dataclass
from proreus.server.cel import WITHOUT_CEL
from proreus.server.cel.checker import (
    Checker,
    CheckError,
    is_available,
    uses_old_self,
)
from proreus.server.cel.estimate import estimated_cost, result_kind
from proreus.server.cel.literals import unusable_constant
from proreus.server.cel.shapes import cardinality
from proreus.server.custom.schema.field_paths import resolve
from proreus.server.custom.schema.structural import Structural
from proreus.server.custom.schema.validation_rules.compiled import RULES, expressions, rules_at
from proreus.server.custom.schema.validation_rules.schema_shapes import shape_of

RULE_BUDGET = 10_000_000
SCHEMA_BUDGET = 100_000_000
_MOST_EXPENSIVE = 4
_REASONS = ("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")
_NO_TYPE = (
    "Internal error: internal error: failed to construct type information for "
    "x-kubernetes-validations rules: unable to convert structural schema to CEL declarations"
)
_BLANK = "must be non-empty if specified"
_BROKEN = "must not contain line breaks"
_LINE_BREAK = re.compile(r"[\n\r]")
_GO_NAMES = (
    ("rule", "Rule", ""),
    ("message", "Message", ""),
    ("messageExpression", "MessageExpression", ""),
    ("reason", "Reason", None),
    ("fieldPath", "FieldPath", ""),
    ("optionalOldSelf", "OptionalOldSelf", None),
)
_ADVICE = (
    "(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, "
    "maps, and strings are declared)"
)


def rule_violations(
    schema: Structural, at: str, *, wrong: Sequence[FieldError] = (), compiles: bool = True
) -> list[FieldError]:
    """Of a whole schema. ``at`` is where it stands in its definition.

    ``wrong`` is what else was found: expressions over it, or over a rule that is ill formed, are
    not read, since their types are not known. Without ``compiles`` none is.
    """
    if not schema.has_rules:
        return []
    if not is_available():
        return [field_error.forbidden(at, WITHOUT_CEL)]
    places = list(_places(schema, _Context(at, is_resource=True)))
    found = [error for place in places for rule in _rules(*place) for error in rule.form()]
    if not compiles:
        return found
    rule_checker = _RuleChecker()
    faulty = [error.field for error in (*wrong, *found)]
    for node, context in places:
        if not any(field.startswith(f"{context.at}.") for field in faulty):
            found += rule_checker.place(node, context)
    return found + list(rule_checker.total_violations(at))


@dataclass(frozen=True, slots=True)
class _Context:
    """Where the walk is. ``times``: how often the place can be in an object, None for any."""

    at: str
    times: int | None = 1
    uncorrelatable: str = ""  # the place above whose parts cannot be correlated with old ones
    is_resource: bool = False

    def inside(self, part: str, *, is_correlatable: bool = True) -> _Context:
        outermost = self.uncorrelatable or ("" if is_correlatable else self.at)
        return replace(self, at=f"{self.at}.{part}", uncorrelatable=outermost, is_resource=False)

    def repeated(self, most: Any) -> _Context:
        times = None if most is None or self.times is None else self.times * int(most)
        return replace(self, times=times)


def _places(schema: Structural, context: _Context) -> Iterator[tuple[Structural, _Context]]:
    """The places that have rules, those below before those above, as Kubernetes goes."""
    values, items = schema.values, schema.items
    if isinstance(values, Structural) and values.has_rules:
        inside = context.inside("additionalProperties").repeated(schema.raw.get("maxProperties"))
        yield from _places(values, inside)
    for key, child in schema.properties.items():
        if child.has_rules:
            yield from _places(child, context.inside(f"properties[{key}]"))
    if items is not None and items.has_rules:
        inside = context.inside("items", is_correlatable=schema.list_type == "map")
        yield from _places(items, inside.repeated(schema.raw.get("maxItems")))
    if rules_at(schema):
        yield schema, context


def _rules(schema: Structural, context: _Context, checker: Checker | None = None) -> list[_Rule]:
    return [
        _Rule(rule, f"{context.at}.{RULES}[{index}]", schema, checker)
        for index, rule in enumerate(rules_at(schema))
    ]


@dataclass(slots=True)
class _RuleChecker:
    costs: list[tuple[int, str]] = field(default_factory=list)

    def place(self, schema: Structural, context: _Context) -> Iterator[FieldError]:
        shape = shape_of(schema, is_resource=context.is_resource)
        if shape is None:
            yield FieldError(f"{context.at}.{RULES}", Reason.INTERNAL, _NO_TYPE)
            return
        checker = Checker.of_rules(shape, expressions(rules_at(schema)))
        times = context.times
        if times is None:
            times = cardinality(shape)
        for rule in _rules(schema, context, checker):
            for name, found in rule.compiled(context.uncorrelatable):
                if isinstance(found, FieldError):
                    yield found
                    continue
                # Kubernetes counts a message once, wherever it stands.
                cost = found * times if name == "rule" else found
                self.costs.append((cost, f"{rule.at}.{name}"))
                if cost > RULE_BUDGET:
                    what = f"estimated {name} cost exceeds budget by {_factor(cost, RULE_BUDGET)}"
                    yield field_error.forbidden(f"{rule.at}.{name}", f"{what} {_ADVICE}")

    def total_violations(self, at: str) -> Iterator[FieldError]:
        total = sum(cost for cost, _ in self.costs)
        if total <= SCHEMA_BUDGET:
            return
        dear = [one for one in self.costs if one[0] >= SCHEMA_BUDGET // 100]
        for _, place in sorted(dear, key=lambda one: -one[0])[:_MOST_EXPENSIVE]:
            yield field_error.forbidden(
                place,
                "contributed to estimated rule cost total exceeding cost "
                "limit for entire OpenAPIv3 schema",
            )
        yield field_error.forbidden(
            at,
            "x-kubernetes-validations estimated rule cost total for entire "
            f"OpenAPIv3 schema exceeds budget by {_factor(total, SCHEMA_BUDGET)} {_ADVICE}",
        )


def _factor(cost: int, budget: int) -> str:
    times = cost / budget
    if times > 100:
        return "factor of more than 100x"
    return f"factor of {times:.6f}x" if times < 1.5 else f"factor of {times:.1f}x"


@dataclass(frozen=True, slots=True)
class _Rule:
    raw: Mapping[str, Any]
    at: str
    schema: Structural
    checker: Checker | None

    @property
    def text(self) -> str:
        return str(self.raw.get("rule") or "")

    def form(self) -> Iterator[FieldError]:
        """What is wrong without compiling the expression."""
        yield from self._message()
        expression = self.raw.get("messageExpression")
        if expression and not expression.strip():
            yield field_error.required(
                f"{self.at}.messageExpression", f"messageExpression {_BLANK}"
            )
        reason = self.raw.get("reason")
        if reason is not None and reason not in _REASONS:
            yield field_error.not_supported(f"{self.at}.reason", reason, _REASONS)
        path, place = self.raw.get("fieldPath"), f"{self.at}.fieldPath"
        if not path:
            return
        if not path.strip():
            yield field_error.invalid(place, path, _BLANK)
        if _LINE_BREAK.search(path):
            yield field_error.invalid(place, path, _BROKEN)
        if resolve(path, self.schema) is None:
            yield field_error.invalid(place, path, "must be a valid path")

    def _message(self) -> Iterator[FieldError]:
        message, place = self.raw.get("message") or "", f"{self.at}.message"
        if not self.text.strip():
            yield field_error.required(f"{self.at}.rule", "rule is not specified")
        elif message and not message.strip():
            yield field_error.invalid(place, message, _BLANK)
        elif _LINE_BREAK.search(message.strip()):
            yield field_error.invalid(place, message, _BROKEN)
        elif _LINE_BREAK.search(self.text.strip()) and not message.strip():
            text = "message must be specified if rule contains line breaks"
            yield field_error.required(place, text)

    def compiled(self, uncorrelatable: str) -> Iterator[tuple[str, int | FieldError]]:
        """The cost of the rule and of its message, or what is wrong with them."""
        assert self.checker is not None, "made for compiling"
        optional = self.raw.get("optionalOldSelf")
        is_transition = False
        try:
            node = self.checker.check(self.text, optional_old=bool(optional))
        except CheckError as error:
            yield "rule", self._refused("rule", f"compilation failed: {error}")
        else:
            if result_kind(node, self.checker.variables) != "bool":
                yield "rule", self._refused("rule", "cel expression must evaluate to a bool")
            elif why := unusable_constant(node):
                yield "rule", self._refused("rule", f"program instantiation failed: {why}")
            else:
                is_transition = uses_old_self(node)
                yield "rule", estimated_cost(node, self.checker.variables)
                yield from self._compiled_message(self.checker, optional_old=bool(optional))
        if is_transition and uncorrelatable:
            text = "oldSelf cannot be used on the uncorrelatable portion of the schema within "
            found = field_error.invalid(f"{self.at}.rule", self.text, text + uncorrelatable)
            yield "rule", found
        elif optional is not None and not is_transition:
            at, why = f"{self.at}.optionalOldSelf", "may not be set if oldSelf is not used in rule"
            yield "rule", field_error.invalid(at, optional, why)

    def _compiled_message(
        self, checker: Checker, *, optional_old: bool
    ) -> Iterator[tuple[str, int | FieldError]]:
        name = "messageExpression"
        text = self.raw.get(name)
        if not text:
            return
        try:
            node = checker.check(text, optional_old=optional_old)
        except CheckError as error:
            yield name, self._refused(name, f"messageExpression compilation failed: {error}")
            return
        if result_kind(node, checker.variables) != "string":
            yield name, self._refused(name, "messageExpression must evaluate to a string")
            return
        if why := unusable_constant(node):
            yield name, self._refused(name, f"messageExpression instantiation failed: {why}")
            return
        yield name, estimated_cost(node, checker.variables)

    def _refused(self, name: str, why: str) -> FieldError:
        """Quotes the whole rule, under the names of Kubernetes' internal form."""
        go_form = {go_name: self.raw.get(word, empty) for word, go_name, empty in _GO_NAMES}
        return field_error.invalid(f"{self.at}.{name}", go_form, why)
