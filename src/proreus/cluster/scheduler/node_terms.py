"""Node selector terms: which nodes a pod's affinity means, compiled to one function per term."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from proreus.api.json_types import Json
from proreus.cluster.scheduler.node import NodeState

Match = Callable[[NodeState], bool]


def any_term(terms: Iterable[Json]) -> Match:
    """A node that satisfies one of the terms; no term means no node."""
    matches = [match_term(term) for term in terms]
    return lambda node: any(match(node) for match in matches)


def match_term(term: Json) -> Match:
    """All expressions of a term must hold; an empty term matches nothing."""
    by_label = [_expression(e) for e in term.get("matchExpressions") or ()]
    by_field = [_expression(e) for e in term.get("matchFields") or ()]
    if not by_label and not by_field:
        return lambda _: False
    return lambda node: (
        all(holds(node.labels) for holds in by_label)
        and all(holds({"metadata.name": node.name}) for holds in by_field)
    )


def _expression(expression: Json) -> Callable[[Mapping[str, str]], bool]:
    key, values = expression.get("key") or "", frozenset(expression.get("values") or ())
    match expression.get("operator"):
        case "In":
            return lambda labels: labels.get(key) in values
        case "NotIn":
            return lambda labels: labels.get(key) not in values
        case "Exists":
            return lambda labels: key in labels
        case "DoesNotExist":
            return lambda labels: key not in labels
        case "Gt":
            return lambda labels: _number(labels.get(key)) > _number(next(iter(values), None))
        case "Lt":
            return lambda labels: _number(labels.get(key)) < _number(next(iter(values), None))
        case _:
            return lambda _: False


def _number(text: str | None) -> float:
    try:
        return int(text or "")
    except ValueError:
        return float("nan")  # compares false with everything
