"""Admission webhooks: how they are called, and for which requests."""

from __future__ import annotations

from proreus.api.field_error import FieldError
from proreus.api.json_types import Json, JsonObject
from proreus.api.values import names
from proreus.server.kinds.parts.cells import age, name_of
from proreus.server.kinds.parts.expressions import on_thread_if_many
from proreus.server.kinds.parts.findings import Findings, items, repeats
from proreus.server.kinds.parts.label_selectors import check_selector
from proreus.server.kinds.parts.request_matching import (
    check_match_conditions,
    check_rule,
    default_rule,
    ineffective_rules,
)
from proreus.server.kinds.parts.webhook_urls import webhook_service_errors, webhook_url_errors
from proreus.server.resource import Cells, Printer, Rules
from proreus.server.resource.rules import Validated

_TIMEOUT_MAX_S = 30


def webhook_rules(*, mutating: bool) -> Rules:
    def default(obj: JsonObject) -> None:
        for hook in obj.get("webhooks") or ():
            hook.setdefault("failurePolicy", "Fail")
            hook.setdefault("matchPolicy", "Equivalent")
            hook.setdefault("namespaceSelector", {})
            hook.setdefault("objectSelector", {})
            hook.setdefault("timeoutSeconds", 10)
            if mutating:
                hook.setdefault("reinvocationPolicy", "Never")
            if service := (hook.get("clientConfig") or {}).get("service"):
                service.setdefault("port", 443)
            for rule in hook.get("rules") or ():
                default_rule(rule)

    return Rules(
        default=default, validate=_validate, validate_update=_validate_update, warnings=_warnings
    )


def _warnings(obj: JsonObject) -> list[str]:
    hooks = items(obj.get("webhooks"), "webhooks")
    return [
        text for at, hook in hooks for text in ineffective_rules(f"{at}.rules", hook.get("rules"))
    ]


def _validate(obj: JsonObject) -> Validated:
    conditions = sum(len(hook.get("matchConditions") or ()) for hook in obj.get("webhooks") or ())
    return on_thread_if_many(conditions, lambda: _violations(obj))


def _validate_update(new: JsonObject, old: JsonObject) -> Validated:
    """Conditions that an older server accepted stay as long as none is changed."""
    if _conditions(new) == _conditions(old):
        return _violations(new, checks_conditions=False)
    return _validate(new)


def _conditions(obj: Json) -> list[object]:
    return [hook.get("matchConditions") or [] for hook in obj.get("webhooks") or ()]


def _violations(obj: JsonObject, *, checks_conditions: bool = True) -> list[FieldError]:
    found = Findings()
    seen: set[str] = set()
    for where, hook in items(obj.get("webhooks"), "webhooks"):
        name = hook.get("name") or ""
        _check_hook_name(found, f"{where}.name", name)
        _check_hook(found, where, hook)
        if checks_conditions:
            check_match_conditions(found, f"{where}.matchConditions", hook.get("matchConditions"))
        _check_versions(
            found, f"{where}.admissionReviewVersions", hook.get("admissionReviewVersions")
        )
        if name and name in seen:
            found.duplicate(f"{where}.name", name)
        seen.add(name)
    return found


def _check_hook_name(found: Findings, at: str, name: str) -> None:
    if not found.require(at, name):
        return
    if faults := names.dns_subdomain(name):
        found.invalid(at, name, ",".join(faults))
    elif name.count(".") < 2:
        found.invalid(at, name, "should be a domain with at least three segments separated by dots")


def _check_hook(found: Findings, at: str, hook: Json) -> None:
    for where, rule in items(hook.get("rules"), f"{at}.rules"):
        check_rule(found, where, rule)
    found.one_of(f"{at}.failurePolicy", hook.get("failurePolicy"), ("Fail", "Ignore"))
    found.one_of(f"{at}.matchPolicy", hook.get("matchPolicy"), ("Equivalent", "Exact"))
    if (effects := hook.get("sideEffects")) is None:
        found.require(f"{at}.sideEffects", None, "must specify one of None, NoneOnDryRun")
    found.one_of(f"{at}.sideEffects", effects, ("None", "NoneOnDryRun"))
    seconds = hook.get("timeoutSeconds")
    if seconds is not None and not 1 <= seconds <= _TIMEOUT_MAX_S:
        found.invalid(
            f"{at}.timeoutSeconds",
            seconds,
            f"the timeout value must be between 1 and {_TIMEOUT_MAX_S} seconds",
        )
    check_selector(found, f"{at}.namespaceSelector", hook.get("namespaceSelector"))
    check_selector(found, f"{at}.objectSelector", hook.get("objectSelector"))
    found.one_of(f"{at}.reinvocationPolicy", hook.get("reinvocationPolicy"), ("IfNeeded", "Never"))
    _check_client(found, f"{at}.clientConfig", hook.get("clientConfig") or {})


def _check_client(found: Findings, at: str, client: Json) -> None:
    url, service = client.get("url"), client.get("service")
    if (url is None) == (service is None):
        found.require(at, None, "exactly one of url or service is required")
    elif url is not None:
        found += webhook_url_errors(f"{at}.url", url)
    elif service is not None:
        found += webhook_service_errors(f"{at}.service", service)


def _check_versions(found: Findings, at: str, versions: list[str] | None) -> None:
    known = ("v1", "v1beta1")
    if not versions:
        found.require(at, None, f"must specify one of {', '.join(known)}")
        return
    for where, version, is_repeated in repeats(versions, at):
        if is_repeated:
            found.invalid(where, version, "duplicate version")
        else:
            found.name(where, version, names.dns_1035_label)
    if not any(version in known for version in versions):
        found.invalid(at, versions, f"must include at least one of {', '.join(known)}")


def _fill(obj: Json, now: float) -> Cells:
    return [name_of(obj), len(obj.get("webhooks") or ()), age(obj, now)]


WEBHOOKS_PRINTER = Printer.of(_fill, "Name", "Webhooks:integer", "Age")
