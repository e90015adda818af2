"""Webhook configurations, and the rules they share with admission policies."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

from proreus.api import field_error
from proreus.api.field_error import FieldError
from proreus.api.values import names
from proreus.server.schema.kinds.findings import Findings, items, repeats
from proreus.server.schema.kinds.label_selectors import check_selector
from proreus.server.schema.rules import JsonObject, Rules

Json = Mapping[str, Any]
_OPERATIONS = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
_SCOPES = ("*", "Cluster", "Namespaced")
_TIMEOUT_MAX_S = 30
_CONDITIONS_MAX = 64


def default_rule(rule: JsonObject) -> None:
    rule.setdefault("scope", "*")


def _defaults(*, mutating: bool) -> Callable[[JsonObject], None]:
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

    return default


def _validate(obj: JsonObject) -> list[FieldError]:
    found = Findings()
    seen: set[str] = set()
    for where, hook in items(obj.get("webhooks"), "webhooks"):
        name = hook.get("name") or ""
        _check_hook_name(found, f"{where}.name", name)
        _check_hook(found, where, hook)
        if name and name in seen:
            found.duplicate(f"{where}.name", name)
        seen.add(name)
    return found


def _check_hook_name(found: Findings, at: str, name: str) -> None:
    if not found.require(at, name):
        return
    found.name(at, name)
    if name.count(".") < 2:
        found.invalid(at, name, "should be a domain with at least three segments separated by dots")


def _check_hook(found: Findings, at: str, hook: Json) -> None:
    for where, rule in items(hook.get("rules"), f"{at}.rules"):
        check_rule(found, where, rule)
    found.one_of(f"{at}.failurePolicy", hook.get("failurePolicy"), ("Fail", "Ignore"))
    found.one_of(f"{at}.matchPolicy", hook.get("matchPolicy"), ("Equivalent", "Exact"))
    effects = hook.get("sideEffects")
    if found.require(f"{at}.sideEffects", effects, "must specify one of None, NoneOnDryRun"):
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
    check_conditions(found, f"{at}.matchConditions", hook.get("matchConditions"))
    _check_versions(found, f"{at}.admissionReviewVersions", hook.get("admissionReviewVersions"))


def _check_client(found: Findings, at: str, client: Json) -> None:
    url, service = client.get("url"), client.get("service")
    if (url is None) == (service is None):
        found.require(at, None, "exactly one of url or service is required")
    elif url is not None:
        _check_url(found, f"{at}.url", url)
    elif service is not None:
        found.require(f"{at}.service.name", service.get("name"), "service name is required")
        found.require(
            f"{at}.service.namespace", service.get("namespace"), "service namespace is required"
        )
        port = service.get("port", 443)
        if not 1 <= port <= 65535:
            found.invalid(f"{at}.service.port", port, f"port is not valid: {names.PORT_RANGE}")
        _check_path(found, f"{at}.service.path", service.get("path") or "")


def _check_path(found: Findings, at: str, path: str) -> None:
    if path in ("", "/"):
        return
    if path == "//":
        found.invalid(at, path, "segment[0] may not be empty")
        return
    if not path.startswith("/"):
        found.invalid(at, path, "must start with a '/'")
    for index, segment in enumerate(path[1:].removesuffix("/").split("/")):
        if not segment:
            found.invalid(at, path, f"segment[{index}] may not be empty")
            continue
        for why in names.dns_subdomain(segment):
            found.invalid(at, path, f"segment[{index}]: {why}")


def _check_url(found: Findings, at: str, url: str) -> None:
    form = "; desired format: https://host[/path]"
    parts = urlsplit(url)
    if parts.scheme != "https":
        found.invalid(at, parts.scheme, f"'https' is the only allowed URL scheme{form}")
    if not parts.netloc:
        found.invalid(at, parts.netloc, f"host must be specified{form}")
    if "@" in parts.netloc:
        found.invalid(
            at, parts.netloc.rpartition("@")[0], "user information is not permitted in the URL"
        )
    if parts.fragment:
        found.invalid(at, parts.fragment, "fragments are not permitted in the URL")
    if parts.query:
        found.invalid(at, parts.query, "query parameters are not permitted in the URL")


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


def check_rule(found: Findings, at: str, rule: Json) -> None:
    """Which requests a hook or policy sees."""
    operations = rule.get("operations") or []
    found.require(f"{at}.operations", operations)
    if len(operations) > 1 and "*" in operations:
        why = "if '*' is present, must not specify other operations"
        found.invalid(f"{at}.operations", operations, why)
    for where, operation in items(operations, f"{at}.operations"):
        found.one_of(where, operation, _OPERATIONS)
    for key, other in (("apiGroups", "API groups"), ("apiVersions", "API versions")):
        values = rule.get(key) or []
        found.require(f"{at}.{key}", values)
        if len(values) > 1 and "*" in values:
            found.invalid(
                f"{at}.{key}", values, f"if '*' is present, must not specify other {other}"
            )
    for where, version in items(rule.get("apiVersions"), f"{at}.apiVersions"):
        found.require(where, version)
    _check_resources(found, f"{at}.resources", rule.get("resources") or [])
    found.one_of(f"{at}.scope", rule.get("scope"), _SCOPES)


def _check_resources(found: Findings, at: str, resources: list[str]) -> None:
    found.require(at, resources)
    whole: set[str] = set()  # resources with all subresources, and subresources of all resources
    for where, name in items(resources, at):
        resource, slash, part = name.partition("/")
        found.require(where, name)
        if not slash:
            continue
        for pattern in (f"{resource}/*", f"*/{part}"):
            if pattern in whole:
                why = f"if '{pattern}' is present, must not specify {name}"
                found.invalid(where, name, why)
        if "*" in (resource, part):
            whole.add(name)
    if "*/*" in resources and len(resources) > 1:
        found.invalid(at, resources, "if '*/*' is present, must not specify other resources")
    plain = [name for name in resources if name and "/" not in name]
    if "*" in plain and len(plain) > 1:
        why = "if '*' is present, must not specify other resources without subresources"
        found.invalid(at, resources, why)


def check_conditions(found: Findings, at: str, conditions: list[Json] | None) -> None:
    """Names and presence; the expressions are compiled where they are evaluated."""
    seen: set[str] = set()
    if len(conditions or ()) > _CONDITIONS_MAX:
        found.append(field_error.too_many(at, len(conditions or ()), _CONDITIONS_MAX))
    for where, condition in items(conditions, at):
        name = condition.get("name") or ""
        found.require(f"{where}.expression", (condition.get("expression") or "").strip())
        if found.require(f"{where}.name", name):
            found.name(f"{where}.name", name, names.qualified_name)
            if name in seen:
                found.duplicate(f"{where}.name", name)
            seen.add(name)


VALIDATING_WEBHOOKS = Rules(
    default=_defaults(mutating=False),
    validate=_validate,
    validate_update=lambda new, _: _validate(new),
)
MUTATING_WEBHOOKS = Rules(
    default=_defaults(mutating=True),
    validate=_validate,
    validate_update=lambda new, _: _validate(new),
)
