"""Limit ranges and resource quotas."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from proreus.api.field_error import FieldError
from proreus.api.values import names, quantity
from proreus.server.schema.kinds.findings import Findings, items
from proreus.server.schema.kinds.resources import (
    QUOTA,
    check_amount,
    check_container_name,
    check_name,
)
from proreus.server.schema.rules import JsonObject, Rules

Json = Mapping[str, Any]
_BEST_EFFORT = ("BestEffort", "NotBestEffort")
_LIMITED = ("Container", "PersistentVolumeClaim", "Pod")
_TERMINATING = ("Terminating", "NotTerminating")
_EXISTS_ONLY = frozenset({*_BEST_EFFORT, *_TERMINATING, "CrossNamespacePodAffinity"})
_SCOPES = _EXISTS_ONLY | {"PriorityClass", "VolumeAttributesClass"}
_COMPUTE = frozenset({"cpu", "memory", "limits.cpu", "limits.memory", "requests.cpu",
                      "requests.memory", "pods"})  # fmt: skip
_EXISTS_TEXT = (
    "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, "
    "ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, "
    "ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity"
)


# --- limit ranges


def _default_limits(obj: JsonObject) -> None:
    """A container's missing defaults follow from its bounds."""
    for item in obj["spec"].get("limits") or ():
        if item.get("type") != "Container":
            continue
        for target, *sources in (("default", "max"), ("defaultRequest", "default", "min")):
            for source in sources:
                for name, value in (item.get(source) or {}).items():
                    item.setdefault(target, {}).setdefault(name, value)


def _validate_limits(obj: JsonObject) -> list[FieldError]:
    found = Findings()
    seen: set[str] = set()
    for where, item in items(obj["spec"].get("limits"), "spec.limits"):
        kind = item.get("type") or ""
        _check_limit_type(found, f"{where}.type", kind)
        if kind in seen:
            found.duplicate(f"{where}.type", kind)
        seen.add(kind)
        _check_limited(found, where, item)
        if kind == "Pod":
            for key in ("default", "defaultRequest"):
                if item.get(key):
                    found.forbid(f"{where}.{key}", "may not be specified when `type` is 'Pod'")
        if kind == "PersistentVolumeClaim" and not any(
            "storage" in (item.get(key) or {}) for key in ("min", "max")
        ):
            found.require(
                f"{where}.limits",
                None,
                "either minimum or maximum storage value is required, but neither was provided",
            )
        _check_bounds(found, where, item)
    return found


def _check_limit_type(found: Findings, at: str, kind: str) -> None:
    problems = names.qualified_name(kind)
    if not problems and "/" not in kind and kind not in _LIMITED:
        problems = ["must be a standard limit type or fully qualified"]
    for why in problems:
        found.invalid(at, kind, why)


def _check_limited(found: Findings, at: str, item: Json) -> None:
    """The names of what is limited."""
    kind = item.get("type")
    check = check_container_name if kind in ("Container", "Pod") else check_name
    fields = ("max", "min") if kind == "Pod" else ("max", "min", "default", "defaultRequest")
    for field in fields:
        for name in sorted(item.get(field) or ()):
            check(found, f"{at}.{field}[{name}]", name)


_BOUNDS = ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio")


def _check_bounds(found: Findings, at: str, item: Json) -> None:
    maps = {key: item.get(key) or {} for key in _BOUNDS}
    for name in sorted({name for amounts in maps.values() for name in amounts}):
        value = {key: amounts.get(name) for key, amounts in maps.items()}
        _check_pair(found, f"{at}.min[{name}]", value, "min", "max", "min value", "max value")
        for low, high, field, words in (
            ("min", "defaultRequest", "defaultRequest", ("min value", "default request value")),
            ("defaultRequest", "max", "defaultRequest", ("default request value", "max value")),
            ("defaultRequest", "default", "defaultRequest",
             ("default request value", "default limit value")),
        ):  # fmt: skip
            _check_pair(
                found, f"{at}.{field}[{name}]", value, low, high, *words, shown="defaultRequest"
            )
        # Here the value shown is the other side's; that is how the reference does it.
        _check_pair(
            found, f"{at}.default[{name}]", value, "min", "default", "min value", "default value",
            shown="min",
        )  # fmt: skip
        _check_pair(
            found, f"{at}.default[{name}]", value, "default", "max", "default value", "max value",
            shown="max",
        )  # fmt: skip


def _check_pair(
    found: Findings, at: str, value: Mapping[str, str | None], low: str, high: str,
    low_text: str, high_text: str, shown: str = "",
) -> None:  # fmt: skip
    small, large = value[low], value[high]
    if small is None or large is None or quantity.amount(small) <= quantity.amount(large):
        return
    why = f"{low_text} {small} is greater than {high_text} {large}"
    found.invalid(at, value[shown or low], why)


LIMIT_RANGE = Rules(
    default=_default_limits,
    validate=_validate_limits,
    validate_update=lambda new, _: _validate_limits(new),
)


# --- quotas


def _validate_quota(obj: JsonObject) -> list[FieldError]:
    found, spec = Findings(), obj["spec"]
    hard = spec.get("hard") or {}
    _check_amounts(found, "spec.hard", hard)
    _check_scopes(found, spec.get("scopes") or [], hard)
    _check_scope_selector(found, spec.get("scopeSelector"), hard)
    return found


def _check_amounts(found: Findings, at: str, amounts: Json) -> None:
    for name in sorted(amounts):
        where = f"{at}[{name}]"
        check_name(found, where, name)
        if "/" not in name and name not in QUOTA and not _is_huge_pages(name):
            found.invalid(where, name, "must be a standard resource for quota")
        check_amount(found, where, name, amounts[name])


def _is_huge_pages(name: str) -> bool:
    return name.startswith(("hugepages-", "requests.hugepages-"))


def _check_scopes(found: Findings, scopes: list[str], hard: Json) -> None:
    at = "spec.scopes"
    for scope in scopes:
        if scope not in _SCOPES:
            found.invalid(at, scopes, "unsupported scope")
        for name in sorted(hard):
            if scope in _SCOPES and not _is_limited(scope, name):
                found.invalid(at, scopes, "unsupported scope applied to resource")
    for pair in (_BEST_EFFORT, _TERMINATING):
        if set(pair) <= set(scopes):
            found.invalid(at, scopes, "conflicting scopes")


def _is_limited(scope: str, name: str) -> bool:
    """Whether a scope says anything about a resource."""
    if scope == "BestEffort":
        return name == "pods" or name == "count/pods"
    if scope == "VolumeAttributesClass":
        return "persistentvolumeclaims" in name or "storage" in name
    return name in _COMPUTE or name.startswith(("count/pods", "requests.", "limits."))


def _check_scope_selector(found: Findings, selector: Json | None, hard: Json) -> None:
    at = "spec.scopeSelector.matchExpressions"
    for _, requirement in items((selector or {}).get("matchExpressions"), at):
        scope, operator = requirement.get("scopeName") or "", requirement.get("operator") or ""
        values = requirement.get("values") or []
        if scope not in _SCOPES:
            found.invalid(f"{at}.scopeName", scope, "unsupported scope")
        if scope in _EXISTS_ONLY and operator != "Exists":
            found.invalid(f"{at}.operator", operator, _EXISTS_TEXT)
            continue
        match operator:
            case "In" | "NotIn":
                found.require(
                    f"{at}.values",
                    values,
                    "must be at least one value when `operator` is 'In' or 'NotIn' for scope "
                    "selector",
                )
            case "Exists" | "DoesNotExist":
                if values:
                    found.invalid(
                        f"{at}.values",
                        values,
                        "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope "
                        "selector",
                    )
            case _:
                found.invalid(f"{at}.operator", operator, "not a valid selector operator")


def _quota_update(new: JsonObject, old: JsonObject) -> list[FieldError]:
    found = Findings(_validate_quota(new))
    scopes, before = new["spec"].get("scopes") or [], old["spec"].get("scopes") or []
    if sorted(scopes) != sorted(before):
        found.invalid("spec.scopes", scopes, "field is immutable")
    return found


def _quota_status(new: JsonObject, old: JsonObject) -> list[FieldError]:
    found, status = Findings(), new.get("status") or {}
    for key in ("hard", "used"):
        _check_amounts(found, f"status.{key}", status.get(key) or {})
    return found


RESOURCE_QUOTA = Rules(
    validate=_validate_quota, validate_update=_quota_update, validate_status=_quota_status
)
