"""Flow schemas and priority levels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from proreus.api import field_error
from proreus.api.field_error import FieldError, Reason
from proreus.api.values import names
from proreus.server.schema.kinds.findings import Findings, items
from proreus.server.schema.rules import JsonObject, Rules

Json = Mapping[str, Any]
_PRECEDENCE = 1000
_PRECEDENCE_MAX = 10000
_SHARES = 30
_SUBJECTS = {"ServiceAccount": "serviceAccount", "User": "user", "Group": "group"}
_VERBS = frozenset({"get", "list", "create", "update", "delete", "deletecollection", "patch",
                    "watch", "proxy"})  # fmt: skip
_NAMESPACES = "each member of this list must be '*' or a DNS-1123 label; "
_QUEUES_MAX = 10_000_000


# --- flow schemas


def _default_schema(obj: JsonObject) -> None:
    if not obj["spec"].get("matchingPrecedence"):
        obj["spec"]["matchingPrecedence"] = _PRECEDENCE


def _validate_schema(obj: JsonObject) -> list[FieldError]:
    found, spec = Findings(), obj["spec"]
    precedence = spec.get("matchingPrecedence") or 0
    at = "spec.matchingPrecedence"
    if precedence <= 0:
        found.invalid(at, precedence, "must be a positive value")
    if precedence > _PRECEDENCE_MAX:
        found.invalid(at, precedence, f"must not be greater than {_PRECEDENCE_MAX}")
    if precedence == 1 and obj["metadata"].get("name") != "exempt":
        why = "only the schema named 'exempt' may have matchingPrecedence 1"
        found.invalid(at, precedence, why)
    if (method := spec.get("distinguisherMethod")) is not None:
        kinds = ("ByNamespace", "ByUser")
        if method.get("type") not in kinds:
            shown = {"Type": method.get("type") or ""}
            found.append(field_error.not_supported("spec.distinguisherMethod.type", shown, kinds))
    level = (spec.get("priorityLevelConfiguration") or {}).get("name")
    at = "spec.priorityLevelConfiguration.name"
    if found.require(at, level, "must reference a priority level"):
        found.name(at, level)
    for where, rule in items(spec.get("rules"), "spec.rules"):
        _check_rule(found, where, rule)
    return found


def _check_rule(found: Findings, at: str, rule: Json) -> None:
    subjects = rule.get("subjects")
    found.require(f"{at}.subjects", subjects, "subjects must contain at least one value")
    for where, subject in items(subjects, f"{at}.subjects"):
        _check_subject(found, where, subject)
    resource_rules, url_rules = rule.get("resourceRules"), rule.get("nonResourceRules")
    if not resource_rules and not url_rules:
        found.require(
            at, None, "at least one of resourceRules and nonResourceRules has to be non-empty"
        )
    for where, entry in items(resource_rules, f"{at}.resourceRules"):
        _check_resource_rule(found, where, entry)
    for where, entry in items(url_rules, f"{at}.nonResourceRules"):
        _check_verbs(found, f"{where}.verbs", entry.get("verbs"))
        _check_urls(found, f"{where}.nonResourceURLs", entry.get("nonResourceURLs"))


def _check_subject(found: Findings, at: str, subject: Json) -> None:
    kind = subject.get("kind") or ""
    key = _SUBJECTS.get(kind)
    if key is None:
        found.one_of(f"{at}.kind", kind, ("Group", "ServiceAccount", "User"))
        return
    part, where = subject.get(key), f"{at}.{key}"
    if part is None:
        found.require(where, None, f"{key} is required when subject kind is '{kind}'")
    else:
        found.require(f"{where}.name", part.get("name"))
    if part is not None and key == "serviceAccount":
        if part.get("name") not in (None, "", "*"):
            found.name(f"{where}.name", part["name"])
        why = "must specify namespace for service account"
        if found.require(f"{where}.namespace", part.get("namespace"), why):
            found.name(f"{where}.namespace", part["namespace"], names.dns_label)
    for other_kind, other in _SUBJECTS.items():
        if other != key and subject.get(other) is not None:
            why = f"{other} is forbidden when subject kind is not '{other_kind}'"
            found.forbid(f"{at}.{other}", why)


def _check_verbs(found: Findings, at: str, verbs: list[str] | None) -> None:
    if not found.require(at, verbs, "verbs must contain at least one value"):
        return
    if "*" in (verbs or ()):
        _check_alone(found, at, verbs, "verbs")
    elif not _VERBS.issuperset(verbs or ()):
        found.append(field_error.not_supported(at, verbs, sorted(_VERBS)))


def _check_alone(found: Findings, at: str, values: list[str] | None, others: str) -> None:
    """What stands for everything stands alone."""
    if values and len(values) > 1 and "*" in values:
        found.invalid(at, values, f"if '*' is present, must not specify other {others}")


def _check_urls(found: Findings, at: str, urls: list[str] | None) -> None:
    if not found.require(at, urls, "nonResourceURLs must contain at least one value"):
        return
    _check_alone(found, at, urls, "non-resource URLs")
    for where, url in items(None if "*" in (urls or ()) else urls, at):
        if why := _fault_of_url(url):
            found.invalid(where, url, why)


def _fault_of_url(url: str) -> str:
    if not url:
        return "must not be empty"
    if not url.startswith("/"):
        return "must start with slash"
    if " " in url:
        return "must not contain white-space"
    if "//" in url:
        return "must not contain double slash"
    stars = url.count("*")
    is_odd = stars > 1 or (stars == 1 and not url.endswith("/*"))
    return "wildcard can only do suffix matching" if is_odd else ""


def _check_resource_rule(found: Findings, at: str, rule: Json) -> None:
    _check_verbs(found, f"{at}.verbs", rule.get("verbs"))
    for key, one, others in (
        ("apiGroups", "api group", "api groups"),
        ("resources", "resource", "resources"),
    ):
        found.require(
            f"{at}.{key}", rule.get(key), f"resource rules must supply at least one {one}"
        )
        _check_alone(found, f"{at}.{key}", rule.get(key), others)
    namespaces, where = rule.get("namespaces") or [], f"{at}.namespaces"
    if not namespaces and not rule.get("clusterScope"):
        why = "resource rules that are not cluster scoped must supply at least one namespace"
        found.require(where, None, why)
    _check_alone(found, where, namespaces, "namespaces")
    for place, namespace in items(None if "*" in namespaces else namespaces, where):
        for why in names.dns_label(namespace):
            found.invalid(place, namespace, f"{_NAMESPACES}{why}")


FLOW_SCHEMA = Rules(
    default=_default_schema,
    validate=_validate_schema,
    validate_update=lambda new, _: _validate_schema(new),
)


# --- priority levels


def _default_level(obj: JsonObject) -> None:
    spec = obj["spec"]
    if (limited := spec.get("limited")) is not None:
        limited.setdefault("nominalConcurrencyShares", _SHARES)
        limited.setdefault("lendablePercent", 0)
        if (queuing := (limited.get("limitResponse") or {}).get("queuing")) is not None:
            for key, value in (("handSize", 8), ("queues", 64), ("queueLengthLimit", 50)):
                if not queuing.get(key):
                    queuing[key] = value
    if (exempt := spec.get("exempt")) is not None:
        exempt.setdefault("nominalConcurrencyShares", 0)
        exempt.setdefault("lendablePercent", 0)


def _validate_level(obj: JsonObject) -> list[FieldError]:
    found, spec = Findings(), obj["spec"]
    kind, name = spec.get("type") or "", obj["metadata"].get("name")
    is_exempt = kind == "Exempt"
    if kind in ("Exempt", "Limited") and is_exempt != (name == "exempt"):
        found.invalid("spec.type", kind, "must be 'Exempt' if and only if `name` is 'exempt'")
        return found
    match kind:
        case "Exempt":
            if spec.get("limited") is not None:
                found.forbid("spec.limited", "must be nil if the type is not Limited")
        case "Limited":
            limited = spec.get("limited")
            if limited is None:
                found.require("spec.limited", None)
            else:
                _check_limited(found, "spec.limited", limited)
        case "":
            found.require("spec.type", kind)
        case _:
            found.one_of("spec.type", kind, ("Exempt", "Limited"))
    return found


def _check_limited(found: Findings, at: str, limited: Json) -> None:
    shares = limited.get("nominalConcurrencyShares") or 0
    if shares < 0:
        found.invalid(f"{at}.nominalConcurrencyShares", shares, "must be a non-negative integer")
    response = limited.get("limitResponse") or {}
    where, queuing = f"{at}.limitResponse.queuing", response.get("queuing")
    match response.get("type"):
        case "Reject":
            if queuing is not None:
                found.append(FieldError(where, Reason.FORBIDDEN, "Forbidden"))
        case "Queue":
            if queuing is None:
                found.require(where, None)
            else:
                _check_queuing(found, where, queuing)
        case other:
            found.one_of(f"{at}.limitResponse.type", other or "", ("Queue", "Reject"))
    percent = limited.get("lendablePercent") or 0
    if not 0 <= percent <= 100:
        found.invalid(f"{at}.lendablePercent", percent, "must be between 0 and 100, inclusive")


def _check_queuing(found: Findings, at: str, queuing: Json) -> None:
    for key in ("queueLengthLimit", "queues", "handSize"):
        if (queuing.get(key) or 0) <= 0:
            found.invalid(f"{at}.{key}", queuing.get(key) or 0, "must be positive")
    hand, queues = queuing.get("handSize") or 0, queuing.get("queues") or 0
    if queues > _QUEUES_MAX:
        found.invalid(f"{at}.queues", queues, f"must not be greater than {_QUEUES_MAX}")
    if hand > queues:
        found.invalid(f"{at}.handSize", hand, f"should not be greater than queues ({queues})")


PRIORITY_LEVEL = Rules(
    default=_default_level,
    validate=_validate_level,
    validate_update=lambda new, _: _validate_level(new),
)
