"""How a role or binding that exists becomes what a cluster must have. Pure.

As Kubernetes does at every start: what is missing is added and what is more is kept, unless the
annotation ``autoupdate: "false"`` says that nobody wants that.
"""

from __future__ import annotations

from typing import Any

from proreus.api.json_types import Json, JsonObject
from proreus.server.authz.rbac.covers import missing
from proreus.server.authz.rbac.rules import rules_of
from proreus.server.registry.server_objects import Recreate

AUTO_UPDATE = "rbac.authorization.kubernetes.io/autoupdate"


def reconciled(existing: Json, expected: Json) -> JsonObject | Recreate | None:
    """The object to write in place of the existing one; None: it is as it should be."""
    metadata = existing.get("metadata") or {}
    if (metadata.get("annotations") or {}).get(AUTO_UPDATE) == "false":
        return None
    if _reference(existing) != _reference(expected):
        return Recreate()  # a binding's role cannot be changed
    wanted: JsonObject = {**existing, "metadata": {**metadata}}
    for field in ("annotations", "labels"):
        merged = {**(expected["metadata"].get(field) or {}), **(metadata.get(field) or {})}
        if merged:
            wanted["metadata"][field] = merged
    _add_rules(wanted, expected)
    _add(wanted, "subjects", expected)
    _add_selectors(wanted, expected)
    return None if wanted == existing else wanted


def _reference(obj: Json) -> tuple[str, str]:
    reference = obj.get("roleRef") or {}
    return reference.get("kind") or "", reference.get("name") or ""


def _add_rules(wanted: JsonObject, expected: Json) -> None:
    if expected.get("aggregationRule") or wanted.get("rules") == expected.get("rules"):
        return  # a controller writes those of aggregated roles
    lacking = missing(rules_of(wanted), rules_of(expected))
    if lacking:
        present = wanted.get("rules") or []
        wanted["rules"] = [*present, *(rule.to_wire() for rule in lacking)]


def _add_selectors(wanted: JsonObject, expected: Json) -> None:
    aggregation = expected.get("aggregationRule")
    if aggregation is None:
        wanted.pop("aggregationRule", None)
        return
    merged = dict(wanted.get("aggregationRule") or {})
    _add(merged, "clusterRoleSelectors", aggregation)
    wanted["aggregationRule"] = merged


def _add(wanted: JsonObject, field: str, expected: Json) -> None:
    """The entries of a list that it does not have yet."""
    present: list[Any] = wanted.get(field) or []
    lacking = [entry for entry in expected.get(field) or () if entry not in present]
    if lacking:
        wanted[field] = [*present, *lacking]
