"""ResourceQuota: how much all objects of a namespace may use together."""

from __future__ import annotations

from proreus.api.field_error import FieldError
from proreus.api.json_types import Json, JsonObject
from proreus.server.kinds.parts.cells import age, name_of
from proreus.server.kinds.parts.findings import Findings
from proreus.server.kinds.parts.resources import QUOTA, check_amount, check_name
from proreus.server.resource import Cells, Lifecycle, Names, Printer, Resource, Rules

_BEST_EFFORT = ("BestEffort", "NotBestEffort")
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


def _validate(obj: JsonObject) -> list[FieldError]:
    found, spec = Findings(), obj["spec"]
    hard = spec.get("hard") or {}
    _check_amounts(found, "spec.hard", hard)
    _check_scopes(found, spec.get("scopes") or [], hard)
    _check_scope_selector(found, spec, hard)
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
            if _is_out_of_scope(scope, name):
                found.invalid(at, scopes, "unsupported scope applied to resource")
    for pair in (_BEST_EFFORT, _TERMINATING):
        if set(pair) <= set(scopes):
            found.invalid(at, scopes, "conflicting scopes")


def _is_out_of_scope(scope: str, name: str) -> bool:
    """Whether no quota with this scope can limit the resource; others than standard ones may."""
    if scope not in _SCOPES or (name not in QUOTA and not _is_huge_pages(name)):
        return False
    if scope == "BestEffort":
        return name != "pods"
    if scope == "VolumeAttributesClass":
        return name not in ("persistentvolumeclaims", "requests.storage")
    return name not in _COMPUTE


def _as_go(selector: Json) -> Json:
    """As Kubernetes prints its internal form."""
    return {
        "MatchExpressions": [
            {
                "ScopeName": each.get("scopeName") or "",
                "Operator": each.get("operator") or "",
                "Values": each.get("values"),
            }
            for each in selector.get("matchExpressions") or ()
        ]
        or None
    }


def _check_scope_selector(found: Findings, spec: Json, hard: Json) -> None:
    at, selector = "spec.scopeSelector.matchExpressions", spec.get("scopeSelector") or {}
    named: set[str] = set()
    for requirement in selector.get("matchExpressions") or ():
        scope, operator = requirement.get("scopeName") or "", requirement.get("operator") or ""
        values = requirement.get("values") or []
        named.add(scope)
        if scope not in _SCOPES:
            found.invalid(f"{at}.scopeName", scope, "unsupported scope")
        for name in sorted(hard):
            if _is_out_of_scope(scope, name):
                found.invalid(at, _as_go(selector), "unsupported scope applied to resource")
        if scope in _EXISTS_ONLY and operator != "Exists":
            found.invalid(f"{at}.operator", operator, _EXISTS_TEXT)
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
    for pair in (_BEST_EFFORT, _TERMINATING):
        if named.issuperset(pair):
            found.invalid(at, spec.get("scopes"), "conflicting scopes")


def _validate_update(new: JsonObject, old: JsonObject) -> list[FieldError]:
    found = Findings(_validate(new))
    scopes, before = new["spec"].get("scopes"), old["spec"].get("scopes")
    if set(scopes or ()) != set(before or ()):
        found.invalid("spec.scopes", scopes, "field is immutable")
    return found


def _validate_status(new: JsonObject, old: JsonObject) -> list[FieldError]:
    found, status = Findings(), new.get("status") or {}
    for key in ("hard", "used"):
        _check_amounts(found, f"status.{key}", status.get(key) or {})
    return found


def _fill(obj: Json, now: float) -> Cells:
    status = obj.get("status") or {}
    hard, used = status.get("hard") or {}, status.get("used") or {}
    texts = {name: f"{name}: {used.get(name, '0')}/{hard[name]}" for name in sorted(hard)}
    limits = [text for name, text in texts.items() if name.startswith("limits")]
    requests = [text for name, text in texts.items() if not name.startswith("limits")]
    return [name_of(obj), ", ".join(requests), ", ".join(limits), age(obj, now)]


RESOURCES = (
    Resource(
        names=Names.of("", "v1", "ResourceQuota", "resourcequotas", "quota"),
        namespaced=True,
        has_status=True,
        lifecycle=Lifecycle(returns_deleted=True),
        rules=Rules(
            validate=_validate, validate_update=_validate_update, validate_status=_validate_status
        ),
        printer=Printer.of(_fill, "Name", "Request", "Limit", "Age"),
    ),
)
