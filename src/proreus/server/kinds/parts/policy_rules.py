"""Policy rules of roles: verbs on resources, or on paths that are no resources."""

from __future__ import annotations

from proreus.api.json_types import Json
from proreus.server.kinds.parts.findings import Findings, items


def check_rules(found: Findings, rules: list[Json] | None, *, namespaced: bool) -> None:
    for where, rule in items(rules, "rules"):
        if rule.get("nonResourceURLs"):
            _check_urls(found, where, rule, namespaced=namespaced)
        else:
            why = "resource rules must supply at least one "
            found.require(f"{where}.apiGroups", rule.get("apiGroups"), f"{why}api group")
            found.require(f"{where}.resources", rule.get("resources"), f"{why}resource")
    for where, rule in items(rules, "rules"):
        found.require(f"{where}.verbs", rule.get("verbs"))


def _check_urls(found: Findings, at: str, rule: Json, *, namespaced: bool) -> None:
    urls = rule["nonResourceURLs"]
    if namespaced:
        why = "namespaced rules cannot apply to non-resource URLs"
        found.invalid(f"{at}.nonResourceURLs", urls, why)
    if any(rule.get(key) for key in ("apiGroups", "resources", "resourceNames")):
        why = "rules cannot apply to both regular resources and non-resource URLs"
        found.invalid(f"{at}.nonResourceURLs", urls, why)
