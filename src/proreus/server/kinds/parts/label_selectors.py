"""Label selectors inside objects: checked, and asked whether they match."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from proreus.api.values import names
from proreus.server.kinds.parts.findings import Findings, items

Selector = Mapping[str, Any]


def check_selector(found: Findings, at: str, selector: Selector | None) -> None:
    if selector is None:
        return
    found.labels(f"{at}.matchLabels", selector.get("matchLabels"))
    for where, expression in items(selector.get("matchExpressions"), f"{at}.matchExpressions"):
        _check_expression(found, where, expression)


def _check_expression(found: Findings, at: str, expression: Mapping[str, Any]) -> None:
    _check_operator(found, at, expression)
    found.name(f"{at}.key", expression.get("key") or "", names.qualified_name)
    for where, value in items(expression.get("values"), f"{at}.values"):
        found.name(where, value, names.label_value)


def _check_operator(
    found: Findings, at: str, requirement: Mapping[str, Any], *, compares: bool = False
) -> None:
    """``compares``: values may also be compared as numbers."""
    operator, values = requirement.get("operator") or "", requirement.get("values") or ()
    match operator:
        case "In" | "NotIn":
            found.require(
                f"{at}.values", values, "must be specified when `operator` is 'In' or 'NotIn'"
            )
        case "Exists" | "DoesNotExist":
            if values:
                found.forbid(
                    f"{at}.values",
                    "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
                )
        case "Gt" | "Lt" if compares:
            found.require(
                f"{at}.values",
                len(values) == 1,
                "must be specified single value when `operator` is 'Lt' or 'Gt'",
            )
        case _:
            found.invalid(f"{at}.operator", operator, "not a valid selector operator")


def is_valid(selector: Selector) -> bool:
    found = Findings()
    check_selector(found, "", selector)
    return not found


def is_empty(selector: Selector) -> bool:
    return not selector.get("matchLabels") and not selector.get("matchExpressions")


def matches(selector: Selector | None, labels: Mapping[str, str]) -> bool:
    """No selector matches nothing, an empty one everything."""
    if selector is None:
        return False
    wanted = selector.get("matchLabels") or {}
    if any(labels.get(key) != value for key, value in wanted.items()):
        return False
    return all(_holds(entry, labels) for entry in selector.get("matchExpressions") or ())


def _holds(expression: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    key, values = expression["key"], expression.get("values") or ()
    match expression["operator"]:
        case "In":
            return key in labels and labels[key] in values
        case "NotIn":
            return key not in labels or labels[key] not in values
        case "Exists":
            return key in labels
        case _:
            return key not in labels


def check_node_selector(found: Findings, at: str, selector: Selector) -> None:
    terms = selector.get("nodeSelectorTerms")
    at = f"{at}.nodeSelectorTerms"
    if found.require(at, terms, "must have at least one node selector term"):
        for where, term in items(terms, at):
            check_node_selector_term(found, where, term)


def check_node_selector_term(
    found: Findings, at: str, term: Mapping[str, Any], *, is_preference: bool = False
) -> None:
    """A preference may name values that no label can have; it never matches."""
    for where, requirement in items(term.get("matchExpressions"), f"{at}.matchExpressions"):
        _check_operator(found, where, requirement, compares=True)
        found.name(f"{where}.key", requirement.get("key") or "", names.qualified_name)
        if not is_preference:
            for place, value in items(requirement.get("values"), f"{where}.values"):
                found.name(place, value, names.label_value)
    for where, requirement in items(term.get("matchFields"), f"{at}.matchFields"):
        _check_field_requirement(found, where, requirement)


def _check_field_requirement(found: Findings, at: str, requirement: Mapping[str, Any]) -> None:
    operator, values = requirement.get("operator") or "", requirement.get("values") or ()
    if operator not in ("In", "NotIn"):
        found.invalid(f"{at}.operator", operator, "not a valid selector operator")
    else:
        found.require(
            f"{at}.values",
            len(values) == 1,
            "must be only one value when `operator` is 'In' or 'NotIn' for node field selector",
        )
    key = requirement.get("key") or ""
    if key != "metadata.name":
        found.invalid(f"{at}.key", key, "not a valid field selector key")
        return
    for where, value in items(values, f"{at}.values"):
        found.name(where, value)
