"""What a rule may cost: an upper bound from the sizes a schema allows, kept under a budget.

Kubernetes walks the checked expression; this looks at which comprehensions are nested in which,
over lists of what size, and which text functions run on texts of what length. It errs in the same
direction for what has no bounds at all, which is what the budget is there to refuse.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from proreus.api import field_error
from proreus.api.field_error import FieldError
from proreus.server.custom.structural import Structural

RULE_BUDGET = 10_000_000
SCHEMA_BUDGET = 100_000_000
_REQUEST_BYTES = 3 * 1024 * 1024
_TRAVERSED_PER_CHARACTER = 0.1
_COMPREHENSION = re.compile(r"([A-Za-z_][\w.]*)\.(?:all|exists|exists_one|map|filter)\(")
_ON_TEXT = re.compile(
    r"([A-Za-z_][\w.]*)\.(?:contains|matches|startsWith|endsWith|split|replace|find)\("
)
_ADVICE = (
    "(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, "
    "maps, and strings are declared)"
)


def violations(schema: Structural, at: str) -> list[FieldError]:
    found: list[FieldError] = []
    costs = list(_costs(schema, at, 1))
    total = sum(cost for _, cost in costs)
    for place, cost in costs:
        if cost > RULE_BUDGET:
            text = f"estimated rule cost exceeds budget by {_factor(cost, RULE_BUDGET)} {_ADVICE}"
            found.append(field_error.forbidden(place, text))
        if total > SCHEMA_BUDGET and cost > RULE_BUDGET:
            found.append(
                field_error.forbidden(
                    place,
                    "contributed to estimated rule & messageExpression cost total exceeding cost "
                    "limit for entire OpenAPIv3 schema",
                )
            )
    if total > SCHEMA_BUDGET:
        text = (
            "x-kubernetes-validations estimated rule & messageExpression cost total for entire "
            f"OpenAPIv3 schema exceeds budget by {_factor(total, SCHEMA_BUDGET)} {_ADVICE}"
        )
        found.append(field_error.forbidden(at, text))
    return found


def _factor(cost: float, budget: float) -> str:
    times = cost / budget
    return "factor of more than 100x" if times > 100 else f"factor of {times:.1f}x"


def _costs(schema: Structural, at: str, times: float) -> Iterator[tuple[str, float]]:
    for index, rule in enumerate(schema.raw.get("x-kubernetes-validations") or ()):
        place = f"{at}.x-kubernetes-validations[{index}].rule"
        yield place, times * _expression(rule.get("rule") or "", schema)
    for key, child in schema.properties.items():
        if child.has_rules:
            yield from _costs(child, f"{at}.properties[{key}]", times)
    if isinstance(schema.values, Structural) and schema.values.has_rules:
        below = f"{at}.additionalProperties"
        yield from _costs(schema.values, below, times * _size(schema))
    if schema.items is not None and schema.items.has_rules:
        yield from _costs(schema.items, f"{at}.items", times * _size(schema))


def _expression(text: str, schema: Structural) -> float:
    cost = 1.0 + text.count("(") + text.count(".")
    for found in _ON_TEXT.finditer(text):
        length = _length(_at(found[1], schema))
        cost += 1 + length * _TRAVERSED_PER_CHARACTER
    spans = [(m.start(), _end(text, m.end()), _size(_at(m[1], schema)))
             for m in _COMPREHENSION.finditer(text)]  # fmt: skip
    deepest = 1.0
    for start, _, _ in spans:
        product = 1.0
        for other, end, size in spans:
            if other <= start < end:
                product *= size
        deepest = max(deepest, product)
    return cost * deepest


def _end(text: str, start: int) -> int:
    depth = 1
    for index in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(text[index], 0)
        if not depth:
            return index
    return len(text)


def _at(path: str, schema: Structural) -> Structural | None:
    first, *rest = path.split(".")
    if first not in ("self", "oldSelf"):
        return None
    node: Structural | None = schema
    for key in rest:
        node = node.child(key) if node is not None else None
    return node


def _size(schema: Structural | None) -> float:
    """How many elements a list or map can have."""
    if schema is None:
        return 10
    word = "maxItems" if schema.type == "array" else "maxProperties"
    if (most := schema.raw.get(word)) is not None:
        return float(most)
    inner = schema.items if schema.items is not None else schema.values
    smallest = 2 if not isinstance(inner, Structural) or inner.type != "object" else 3
    return _REQUEST_BYTES / (smallest + 1)


def _length(schema: Structural | None) -> float:
    if schema is None:
        return 64
    if "enum" in schema.raw:
        return max((len(str(one)) for one in schema.raw["enum"]), default=1)
    return float(schema.raw.get("maxLength", _REQUEST_BYTES))
