"""Roles and bindings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from proreus.api.field_error import FieldError
from proreus.api.values import names
from proreus.server.schema.kinds.findings import Findings, items
from proreus.server.schema.kinds.label_selectors import check_selector
from proreus.server.schema.rules import JsonObject, Rules

Json = Mapping[str, Any]
_GROUP = "rbac.authorization.k8s.io"
_SUBJECTS = ("ServiceAccount", "User", "Group")


def _check_rules(found: Findings, rules: list[Json] | None, *, namespaced: bool) -> None:
    for where, rule in items(rules, "rules"):
        if rule.get("nonResourceURLs"):
            _check_urls(found, where, rule, namespaced=namespaced)
        else:
            why = "resource rules must supply at least one "
            found.require(f"{where}.apiGroups", rule.get("apiGroups"), f"{why}api group")
            found.require(f"{where}.resources", rule.get("resources"), f"{why}resource")
        found.require(f"{where}.verbs", rule.get("verbs"))


def _check_urls(found: Findings, at: str, rule: Json, *, namespaced: bool) -> None:
    urls = rule["nonResourceURLs"]
    if namespaced:
        why = "namespaced rules cannot apply to non-resource URLs"
        found.invalid(f"{at}.nonResourceURLs", urls, why)
    if any(rule.get(key) for key in ("apiGroups", "resources", "resourceNames")):
        why = "rules cannot apply to both regular resources and non-resource URLs"
        found.invalid(f"{at}.nonResourceURLs", urls, why)


def _validate_role(obj: JsonObject) -> list[FieldError]:
    found = Findings()
    _check_rules(found, obj.get("rules"), namespaced=True)
    return found


def _validate_cluster_role(obj: JsonObject) -> list[FieldError]:
    found = Findings()
    _check_rules(found, obj.get("rules"), namespaced=False)
    if (aggregation := obj.get("aggregationRule")) is not None:
        at = "aggregationRule.clusterRoleSelectors"
        selectors = aggregation.get("clusterRoleSelectors")
        why = "at least one clusterRoleSelector required if aggregationRule is non-nil"
        if found.require(at, selectors, why):
            for where, selector in items(selectors, at):
                check_selector(found, where, selector)
    return found


ROLE = Rules(validate=_validate_role, validate_update=lambda new, _: _validate_role(new))
CLUSTER_ROLE = Rules(
    validate=_validate_cluster_role, validate_update=lambda new, _: _validate_cluster_role(new)
)


# --- bindings


def _default_binding(obj: JsonObject) -> None:
    reference = obj.setdefault("roleRef", {})
    if not reference.get("apiGroup"):
        reference["apiGroup"] = _GROUP
    for subject in obj.get("subjects") or ():
        if not subject.get("apiGroup") and subject.get("kind") in ("User", "Group"):
            subject["apiGroup"] = _GROUP


def _check_binding(found: Findings, obj: Json, *, namespaced: bool) -> None:
    reference = obj.get("roleRef") or {}
    found.one_of("roleRef.apiGroup", reference.get("apiGroup") or "", (_GROUP,))
    kinds = ("Role", "ClusterRole") if namespaced else ("ClusterRole",)
    found.one_of("roleRef.kind", reference.get("kind") or "", kinds)
    if found.require("roleRef.name", reference.get("name")):
        found.name("roleRef.name", reference["name"], names.path_segment)
    for where, subject in items(obj.get("subjects"), "subjects"):
        _check_subject(found, where, subject, namespaced=namespaced)


def _check_subject(found: Findings, at: str, subject: Json, *, namespaced: bool) -> None:
    name, group = subject.get("name") or "", subject.get("apiGroup") or ""
    named = bool(name)
    match subject.get("kind") or "":
        case "ServiceAccount":
            found.require(f"{at}.name", name)
            if named:
                found.name(f"{at}.name", name)
            found.one_of(f"{at}.apiGroup", group, ("",))
            if not namespaced:
                found.require(f"{at}.namespace", subject.get("namespace"))
        case "User" | "Group":
            found.require(f"{at}.name", name)
            found.one_of(f"{at}.apiGroup", group, (_GROUP,))
        case other:
            found.one_of(f"{at}.kind", other, _SUBJECTS)
            found.require(f"{at}.name", name)


def _binding(*, namespaced: bool) -> Rules:
    def validate(obj: JsonObject) -> list[FieldError]:
        found = Findings()
        _check_binding(found, obj, namespaced=namespaced)
        return found

    def validate_update(new: JsonObject, old: JsonObject) -> list[FieldError]:
        found = Findings(validate(new))
        if new.get("roleRef") != old.get("roleRef"):
            reference = new.get("roleRef") or {}
            shown = {
                "APIGroup": reference.get("apiGroup") or "",
                "Kind": reference.get("kind") or "",
                "Name": reference.get("name") or "",
            }
            found.invalid("roleRef", shown, "field is immutable")
        return found

    return Rules(default=_default_binding, validate=validate, validate_update=validate_update)


ROLE_BINDING = _binding(namespaced=True)
CLUSTER_ROLE_BINDING = _binding(namespaced=False)
