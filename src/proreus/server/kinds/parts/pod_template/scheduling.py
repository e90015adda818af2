"""Where a pod may run: affinity, spreading, tolerations, node selectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from proreus.api.affinity import PREFERRED, REQUIRED
from proreus.api.json_types import Json
from proreus.api.values import names
from proreus.server.kinds.parts.findings import Findings, items
from proreus.server.kinds.parts.label_selectors import (
    check_node_selector,
    check_node_selector_term,
    check_selector,
)

SYSTEM_PRIORITIES = {"system-node-critical": 2000001000, "system-cluster-critical": 2000000000}
TAINT_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_UNSATISFIABLE = ("DoNotSchedule", "ScheduleAnyway")


def check_affinity(found: Findings, at: str, affinity: Json | None) -> None:
    if affinity is None:
        return
    if (node := affinity.get("nodeAffinity")) is not None:
        if (required := node.get(REQUIRED)) is not None:
            check_node_selector(found, f"{at}.nodeAffinity.{REQUIRED}", required)
        for where, term in items(node.get(PREFERRED), f"{at}.nodeAffinity.{PREFERRED}"):
            _check_weight(found, where, term)
            preference = term.get("preference") or {}
            check_node_selector_term(found, f"{where}.preference", preference, is_preference=True)
    for key in ("podAffinity", "podAntiAffinity"):
        if (pod := affinity.get(key)) is not None:
            _check_pod_affinity(found, f"{at}.{key}", pod)


def _check_pod_affinity(found: Findings, at: str, affinity: Json) -> None:
    for where, term in items(affinity.get(REQUIRED), f"{at}.{REQUIRED}"):
        _check_term(found, where, term)
    for where, term in items(affinity.get(PREFERRED), f"{at}.{PREFERRED}"):
        _check_weight(found, where, term)
        _check_term(found, f"{where}.podAffinityTerm", term.get("podAffinityTerm") or {})


def _check_weight(found: Findings, at: str, term: Json) -> None:
    weight = term.get("weight") or 0
    if not 1 <= weight <= 100:
        found.invalid(f"{at}.weight", weight, "must be in the range 1-100")


def _check_term(found: Findings, at: str, term: Json) -> None:
    check_selector(found, f"{at}.labelSelector", term.get("labelSelector"))
    check_selector(found, f"{at}.namespaceSelector", term.get("namespaceSelector"))
    for namespace in term.get("namespaces") or ():
        found.name(f"{at}.namespace", namespace, names.dns_label)
    _check_label_keys(found, at, term)
    key = term.get("topologyKey") or ""
    found.require(f"{at}.topologyKey", key, "can not be empty")
    found.name(f"{at}.topologyKey", key, names.qualified_name)


def _check_label_keys(found: Findings, at: str, term: Json) -> None:
    """The pod's own values of some labels, which the selector then need not name."""
    selector = term.get("labelSelector")
    same, other = term.get("matchLabelKeys") or [], term.get("mismatchLabelKeys") or []
    for field, keys in (("matchLabelKeys", same), ("mismatchLabelKeys", other)):
        if keys and selector is None:
            why = "must not be specified when labelSelector is not set"
            found.forbid(f"{at}.{field}", why)
            continue
        for where, key in items(keys, f"{at}.{field}"):
            found.name(where, key, names.qualified_name)
    for key in _named_twice(selector or {}):
        if key in same:
            where = f"{at}[{same.index(key)}]"  # without the field's name; so does Kubernetes
            found.invalid(where, key, "exists in both matchLabelKeys and labelSelector")
    for where, key in items(same, f"{at}.matchLabelKeys"):
        if key in other:
            found.invalid(where, key, "exists in both matchLabelKeys and mismatchLabelKeys")


def _named_twice(selector: Json) -> list[str]:
    """A selector names a key once, its own expression for ``matchLabelKeys`` included."""
    seen, twice = set(selector.get("matchLabels") or ()), list[str]()
    for expression in selector.get("matchExpressions") or ():
        key = expression.get("key") or ""
        if key in seen:
            twice.append(key)
        seen.add(key)
    return twice


def check_spread(found: Findings, at: str, constraints: list[Json] | None) -> None:
    places = _last_places(constraints or ())
    for index, (where, constraint) in enumerate(items(constraints, at)):
        skew = constraint.get("maxSkew") or 0
        if skew <= 0:
            found.invalid(f"{where}.maxSkew", skew, "must be greater than zero")
        key = constraint.get("topologyKey") or ""
        found.require(f"{where}.topologyKey", key, "can not be empty")
        action = constraint.get("whenUnsatisfiable") or ""
        found.one_of(f"{where}.whenUnsatisfiable", action, _UNSATISFIABLE)
        if places[key, action] > index:
            # Kubernetes compares with the later ones, so the first of two equal ones is named.
            found.duplicate(f"{where}.{{topologyKey, whenUnsatisfiable}}", f"{{{key}, {action}}}")
        _check_min_domains(found, f"{where}.minDomains", constraint.get("minDomains"), action)
        for policy in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
            found.one_of(f"{where}.{policy}", constraint.get(policy), ("Honor", "Ignore"))
        _check_label_keys(found, where, constraint)
        check_selector(found, f"{where}.labelSelector", constraint.get("labelSelector"))


def _last_places(constraints: Sequence[Json]) -> dict[tuple[str, str], int]:
    return {
        (one.get("topologyKey") or "", one.get("whenUnsatisfiable") or ""): index
        for index, one in enumerate(constraints)
    }


def _check_min_domains(found: Findings, at: str, value: int | None, action: str) -> None:
    if value is None:
        return
    if value <= 0:
        found.invalid(at, value, "must be greater than zero")
    if action != "DoNotSchedule":
        found.invalid(
            at, value, f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
        )


def check_tolerations(found: Findings, at: str, tolerations: list[Json] | None) -> None:
    for where, toleration in items(tolerations, at):
        key, operator = toleration.get("key") or "", toleration.get("operator") or ""
        effect, value = toleration.get("effect") or "", toleration.get("value") or ""
        if key:
            found.name(f"{where}.key", key, names.qualified_name)
        elif operator != "Exists":
            found.invalid(
                f"{where}.operator",
                operator,
                'operator must be Exists when `key` is empty, which means "match all values and '
                'all keys"',
            )
        if toleration.get("tolerationSeconds") is not None and effect != "NoExecute":
            found.invalid(
                f"{where}.effect",
                effect,
                "effect must be 'NoExecute' when `tolerationSeconds` is set",
            )
        match operator:
            case "Equal" | "":
                if faults := names.label_value(value):
                    found.invalid(f"{where}.operator", value, ";".join(faults))
            case "Exists":
                if value:
                    found.invalid(
                        f"{where}.operator",
                        value,
                        "value must be empty when `operator` is 'Exists'",
                    )
            case _:
                found.one_of(f"{where}.operator", operator, ("Equal", "Exists"))
        if effect:
            found.one_of(f"{where}.effect", effect, TAINT_EFFECTS)


def internal_toleration(toleration: Json) -> dict[str, Any]:
    """The toleration as Kubernetes prints its internal form."""
    printed: dict[str, Any] = {
        key.capitalize(): toleration.get(key) or ""
        for key in ("key", "operator", "value", "effect")
    }
    return {**printed, "TolerationSeconds": toleration.get("tolerationSeconds")}


def internal_term(term: Json) -> dict[str, Any]:
    """The term as Kubernetes prints its internal form."""

    def printed(requirements: list[Json] | None) -> list[dict[str, Any]] | None:
        if requirements is None:
            return None
        return [
            {
                "Key": entry.get("key") or "",
                "Operator": entry.get("operator") or "",
                "Values": entry.get("values"),
            }
            for entry in requirements
        ]

    return {
        "MatchExpressions": printed(term.get("matchExpressions")),
        "MatchFields": printed(term.get("matchFields")),
    }
