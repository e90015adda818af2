"""Whether the rules of a schema are well formed and affordable: checked when it is written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from proreus.api import field_error
from proreus.api.field_error import FieldError
from proreus.server.custom.cel.checker import Checker, CheckError, is_available, uses_old_self
from proreus.server.custom.cel.compiled import RULES, expressions, rules_at
from proreus.server.custom.cel.estimate import estimated_cost
from proreus.server.custom.cel.places import resolve
from proreus.server.custom.cel.shapes import Shape, cardinality, shape_of
from proreus.server.custom.structural import Structural

RULE_BUDGET = 10_000_000
SCHEMA_BUDGET = 100_000_000
_MOST_EXPENSIVE = 4
_REASONS = (
    "FieldValueDuplicate",
    "FieldValueForbidden",
    "FieldValueInvalid",
    "FieldValueRequired",
)
_WITHOUT_CEL = (
    "this server was installed without the extra `cel` and cannot check rules; install "
    "proreus[cel] or remove x-kubernetes-validations"
)
_ADVICE = (
    "(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, "
    "maps, and strings are declared)"
)


def rule_violations(schema: Structural, at: str) -> list[FieldError]:
    """Of a whole schema. ``at`` is where it stands in its definition."""
    if not schema.has_rules:
        return []
    if not is_available():
        return [field_error.forbidden(at, _WITHOUT_CEL)]
    judge = _Judge()
    found = list(judge.below(schema, _Context(at), is_resource=True))
    return found + list(judge.total_violations(at))


@dataclass(frozen=True, slots=True)
class _Context:
    """Where the walk is. ``times``: how often the place can be in an object, None for any."""

    at: str
    times: int | None = 1
    uncorrelatable: str = ""  # the list above whose items cannot be told from former ones

    def inside(self, part: str, most: Any) -> _Context:
        times = None if most is None or self.times is None else self.times * int(most)
        return replace(self, at=f"{self.at}.{part}", times=times)


@dataclass(slots=True)
class _Judge:
    costs: list[tuple[int, str]] = field(default_factory=list)

    def below(
        self, schema: Structural, context: _Context, *, is_resource: bool = False
    ) -> Iterator[FieldError]:
        if rules_at(schema):
            yield from self._place(schema, context, is_resource=is_resource)
        for key, child in schema.properties.items():
            if child.has_rules:
                inside = replace(context, at=f"{context.at}.properties[{key}]")
                yield from self.below(child, inside)
        if isinstance(schema.values, Structural) and schema.values.has_rules:
            inside = context.inside("additionalProperties", schema.raw.get("maxProperties"))
            if schema.is_atomic_map:
                inside = replace(inside, uncorrelatable=context.at)
            yield from self.below(schema.values, inside)
        if schema.items is not None and schema.items.has_rules:
            inside = context.inside("items", schema.raw.get("maxItems"))
            if schema.list_type != "map":
                inside = replace(inside, uncorrelatable=context.at)
            yield from self.below(schema.items, inside)

    def _place(
        self, schema: Structural, context: _Context, *, is_resource: bool
    ) -> Iterator[FieldError]:
        shape = shape_of(schema, is_resource=is_resource)
        checker = Checker(shape, expressions(rules_at(schema)))
        times = context.times
        if times is None:
            times = cardinality(shape) if shape is not None else 1
        for index, rule in enumerate(rules_at(schema)):
            place = _Rule(rule, f"{context.at}.{RULES}[{index}]", schema, checker)
            yield from place.form()
            for name, node_cost in place.compiled(context.uncorrelatable, shape):
                if isinstance(node_cost, FieldError):
                    yield node_cost
                    continue
                cost = node_cost * times
                self.costs.append((cost, f"{place.at}.{name}"))
                if cost > RULE_BUDGET:
                    what = f"estimated {name} cost exceeds budget by {_factor(cost, RULE_BUDGET)}"
                    yield field_error.forbidden(f"{place.at}.{name}", f"{what} {_ADVICE}")

    def total_violations(self, at: str) -> Iterator[FieldError]:
        total = sum(cost for cost, _ in self.costs)
        if total <= SCHEMA_BUDGET:
            return
        for _, place in sorted(self.costs, key=lambda one: -one[0])[:_MOST_EXPENSIVE]:
            yield field_error.forbidden(
                place,
                "contributed to estimated rule & messageExpression cost total exceeding cost "
                "limit for entire OpenAPIv3 schema",
            )
        yield field_error.forbidden(
            at,
            "x-kubernetes-validations estimated rule & messageExpression cost total for entire "
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
    checker: Checker

    @property
    def text(self) -> str:
        return str(self.raw.get("rule") or "")

    def form(self) -> Iterator[FieldError]:
        """What can be said without looking into the expression."""
        if not self.text.strip():
            yield field_error.required(f"{self.at}.rule", "rule is not specified")
            return
        yield from self._message()
        reason = self.raw.get("reason")
        if reason is not None and reason not in _REASONS:
            yield field_error.not_supported(f"{self.at}.reason", reason, _REASONS)
        path = self.raw.get("fieldPath")
        if path and resolve(path, self.schema) is None:
            yield field_error.invalid(f"{self.at}.fieldPath", path, "must be a valid path")

    def _message(self) -> Iterator[FieldError]:
        message, expression = self.raw.get("message"), self.raw.get("messageExpression")
        if message is not None:
            at = f"{self.at}.message"
            if message and not message.strip():
                yield field_error.invalid(at, message, "must be non-empty if specified")
            elif "\n" in message.strip():
                yield field_error.invalid(at, message, "must not contain line breaks")
        if "\n" in self.text.strip() and not message and not expression:
            yield field_error.required(
                f"{self.at}.message", "message must be specified if rule contains line breaks"
            )

    def compiled(
        self, uncorrelatable: str, shape: Shape | None
    ) -> Iterator[tuple[str, int | FieldError]]:
        """The cost of the rule and of its message, or why they do not compile."""
        if not self.text.strip():
            return
        optional = self.raw.get("optionalOldSelf")
        try:
            node = self.checker.check(self.text, optional_old=bool(optional))
        except CheckError as error:
            yield "rule", self._refused("rule", f"compilation failed: {error}")
            return
        if node.type.name not in ("bool", "dyn"):
            yield "rule", self._refused("rule", "cel expression must evaluate to a bool")
            return
        is_transition = uses_old_self(node)
        if optional is not None and not is_transition:
            at, why = f"{self.at}.optionalOldSelf", "may not be set if oldSelf is not used in rule"
            yield "rule", field_error.invalid(at, optional, why)
        if is_transition and uncorrelatable and not optional:
            yield (
                "rule",
                self._refused(
                    "rule",
                    "oldSelf cannot be used on the uncorrelatable portion of the schema within "
                    f"{uncorrelatable}",
                ),
            )
        yield "rule", estimated_cost(node, shape)
        yield from self._compiled_message(shape)

    def _compiled_message(self, shape: Shape | None) -> Iterator[tuple[str, int | FieldError]]:
        name = "messageExpression"
        text = self.raw.get(name)
        if text is None:
            return
        if not text.strip():
            yield name, field_error.required(f"{self.at}.{name}", "must be non-empty if specified")
            return
        try:
            node = self.checker.check(text)
        except CheckError as error:
            why = f"messageExpression compilation failed: {error}"
            yield name, self._refused(name, why)
            return
        if node.type.name not in ("string", "dyn"):
            yield name, self._refused(name, "messageExpression must evaluate to a string")
            return
        yield name, estimated_cost(node, shape)

    def _refused(self, name: str, why: str) -> FieldError:
        return field_error.invalid(f"{self.at}.{name}", self.raw.get(name), why)
