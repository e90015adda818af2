"""Admission policies and their bindings, validating and mutating."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from proreus.api.field_error import FieldError
from proreus.api.values import names
from proreus.server.schema.kinds.findings import Findings, items, repeats
from proreus.server.schema.kinds.label_selectors import check_selector
from proreus.server.schema.kinds.webhooks import check_conditions, check_rule, default_rule
from proreus.server.schema.rules import JsonObject, Rules

Json = Mapping[str, Any]
_ANNOTATIONS_MAX = 20
_REASONS = ("Forbidden", "Invalid", "RequestEntityTooLarge")
_IDENTIFIER = re.compile(r"[_a-zA-Z][_a-zA-Z0-9]*", re.ASCII)
_RESERVED = frozenset({
    "true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function",
    "if", "import", "let", "loop", "package", "namespace", "return", "var", "void", "while",
})  # fmt: skip
_EXCLUSIVE = "name and selector are mutually exclusive"
_TWICE = (
    "must not contain both Deny and Warn (repeating the same validation failure information in the "
    "API response and headers serves no purpose)"
)


def _default_resources(resources: JsonObject | None) -> None:
    if resources is None:
        return
    resources.setdefault("matchPolicy", "Equivalent")
    resources.setdefault("namespaceSelector", {})
    resources.setdefault("objectSelector", {})
    for key in ("resourceRules", "excludeResourceRules"):
        for rule in resources.get(key) or ():
            default_rule(rule)


def _default_policy(obj: JsonObject) -> None:
    obj["spec"].setdefault("failurePolicy", "Fail")
    _default_resources(obj["spec"].get("matchConstraints"))


def _default_binding(obj: JsonObject) -> None:
    _default_resources((obj.get("spec") or {}).get("matchResources"))


def _check_policy(found: Findings, spec: Json) -> None:
    """What both sorts of policies have."""
    found.required_one_of("spec.failurePolicy", spec.get("failurePolicy"), ("Fail", "Ignore"))
    if (kind := spec.get("paramKind")) is not None:
        _check_param_kind(found, "spec.paramKind", kind)
    constraints = spec.get("matchConstraints")
    if constraints is None:
        found.require("spec.matchConstraints", None)
    else:
        _check_resources(found, "spec.matchConstraints", constraints)
        found.require("spec.matchConstraints.resourceRules", constraints.get("resourceRules"))
    check_conditions(found, "spec.matchConditions", spec.get("matchConditions"))
    for where, variable in items(spec.get("variables"), "spec.variables"):
        name = variable.get("name") or ""
        if found.require(f"{where}.name", name.strip(), "name is not specified") and (
            not _IDENTIFIER.fullmatch(name) or name in _RESERVED
        ):
            found.invalid(f"{where}.name", name, "name is not a valid CEL identifier")
        _check_expression(found, f"{where}.expression", variable.get("expression"))


def _check_expression(found: Findings, at: str, expression: str | None) -> None:
    found.require(at, (expression or "").strip(), "expression is not specified")


def _check_param_kind(found: Findings, at: str, kind: Json) -> None:
    version, name, place = kind.get("apiVersion") or "", kind.get("kind") or "", f"{at}.apiVersion"
    group, _, short = version.rpartition("/")
    if found.require(place, version):
        if version.count("/") > 1:
            found.invalid(place, version, f"unexpected GroupVersion string: {version}")
        else:
            if group and (faults := names.dns_subdomain(group)):
                found.invalid(place, group, ",".join(faults))
            if not short:
                found.invalid(place, version, "version must be specified")
            elif faults := names.dns_1035_label(short):
                found.invalid(place, short, ",".join(faults))
    if found.require(f"{at}.kind", name) and (faults := names.dns_1035_label(name.lower())):
        why = f"may have mixed case, but should otherwise match: {','.join(faults)}"
        found.invalid(f"{at}.kind", name, why)


def _check_resources(found: Findings, at: str, resources: Json) -> None:
    found.one_of(f"{at}.matchPolicy", resources.get("matchPolicy"), ("Equivalent", "Exact"))
    check_selector(found, f"{at}.namespaceSelector", resources.get("namespaceSelector"))
    check_selector(found, f"{at}.objectSelector", resources.get("objectSelector"))
    for key in ("resourceRules", "excludeResourceRules"):
        for where, rule in items(resources.get(key), f"{at}.{key}"):
            named = rule.get("resourceNames")
            for place, name, is_repeated in repeats(named, f"{where}.resourceNames"):
                found.name(place, name, names.path_segment)
                if is_repeated:
                    found.duplicate(place, name)
            check_rule(found, where, rule)


def _validate_validating(obj: JsonObject) -> list[FieldError]:
    found, spec = Findings(), obj["spec"]
    _check_policy(found, spec)
    validations, annotations = spec.get("validations"), spec.get("auditAnnotations")
    if not validations and not annotations:
        why = "validations or auditAnnotations must contain at least one item"
        for key in ("validations", "auditAnnotations"):
            found.require(f"spec.{key}", None, why)
    for where, validation in items(validations, "spec.validations"):
        _check_validation(found, where, validation)
    _check_annotations(found, obj["metadata"].get("name") or "", annotations or [])
    return found


def _check_validation(found: Findings, at: str, validation: Json) -> None:
    _check_expression(found, f"{at}.expression", validation.get("expression"))
    text, message = validation.get("messageExpression") or "", validation.get("message") or ""
    if text and not text.strip():
        found.invalid(f"{at}.messageExpression", text, "must be non-empty if specified")
    if message and not message.strip():
        found.invalid(f"{at}.message", message, "message must be non-empty if specified")
    elif "\n" in message.strip() or "\r" in message.strip():
        found.invalid(f"{at}.message", message, "message must not contain line breaks")
    found.one_of(f"{at}.reason", validation.get("reason"), _REASONS)


def _check_annotations(found: Findings, policy: str, annotations: list[Json]) -> None:
    at = "spec.auditAnnotations"
    if len(annotations) > _ANNOTATIONS_MAX:
        why = f"must not have more than {_ANNOTATIONS_MAX} auditAnnotations"
        shown = [
            {"Key": entry.get("key") or "", "ValueExpression": entry.get("valueExpression") or ""}
            for entry in annotations
        ]
        found.invalid(at, shown, why)
    seen: set[str] = set()
    for where, entry in items(annotations, at):
        key = entry.get("key") or ""
        found.name(f"{where}.key", f"{policy}/{key}", names.qualified_name)
        value = (entry.get("valueExpression") or "").strip()
        found.require(f"{where}.valueExpression", value, "valueExpression is not specified")
        if key in seen:
            found.duplicate(f"{where}.key", key)
        seen.add(key)


def _validate_mutating(obj: JsonObject) -> list[FieldError]:
    found, spec = Findings(), obj["spec"]
    _check_policy(found, spec)
    mutations = spec.get("mutations")
    found.require("spec.mutations", mutations, "mutations must contain at least one item")
    for where, mutation in items(mutations, "spec.mutations"):
        kinds = ("ApplyConfiguration", "JSONPatch")
        found.required_one_of(f"{where}.patchType", mutation.get("patchType"), kinds)
        for key in ("applyConfiguration", "jsonPatch"):
            if (part := mutation.get(key)) is not None:
                _check_expression(found, f"{where}.{key}.expression", part.get("expression"))
    policies = ("IfNeeded", "Never")
    found.required_one_of("spec.reinvocationPolicy", spec.get("reinvocationPolicy"), policies)
    return found


# --- bindings


def _check_binding(found: Findings, spec: Json, resources_at: str) -> None:
    found.required_name("spec.policyName", spec.get("policyName"))
    if (reference := spec.get("paramRef")) is not None:
        _check_param(found, "spec.paramRef", reference)
    if (resources := spec.get("matchResources")) is not None:
        _check_resources(found, resources_at, resources)


def _check_param(found: Findings, at: str, reference: Json) -> None:
    name, selector = reference.get("name") or "", reference.get("selector")
    if name:
        found.name(f"{at}.name", name, names.path_segment)
        if selector is not None:
            found.forbid(f"{at}.name", _EXCLUSIVE)
    check_selector(found, f"{at}.selector", selector)
    if name and selector is not None:
        found.forbid(f"{at}.selector", _EXCLUSIVE)
    if not name and selector is None:
        found.require(at, None, "one of name or selector must be specified")
    action = reference.get("parameterNotFoundAction")
    found.required_one_of(f"{at}.parameterNotFoundAction", action, ("Deny", "Allow"))


def _validate_validating_binding(obj: JsonObject) -> list[FieldError]:
    found, spec = Findings(), obj.get("spec") or {}
    _check_binding(found, spec, "spec.matchResouces")  # spelled like this here
    at, actions = "spec.validationActions", spec.get("validationActions") or []
    for where, action, is_repeated in repeats(actions, at):
        found.one_of(where, action, ("Audit", "Deny", "Warn"))
        if is_repeated:
            found.duplicate(where, action)
    if "Deny" in actions and "Warn" in actions:
        found.invalid(at, actions, _TWICE)
    found.require(at, actions, "at least one validation action is required")
    return found


def _validate_mutating_binding(obj: JsonObject) -> list[FieldError]:
    found = Findings()
    _check_binding(found, obj.get("spec") or {}, "spec.matchResources")
    return found


VALIDATING_POLICY = Rules(
    default=_default_policy,
    validate=_validate_validating,
    validate_update=lambda new, _: _validate_validating(new),
)
MUTATING_POLICY = Rules(
    default=_default_policy,
    validate=_validate_mutating,
    validate_update=lambda new, _: _validate_mutating(new),
)
VALIDATING_POLICY_BINDING = Rules(
    default=_default_binding,
    validate=_validate_validating_binding,
    validate_update=lambda new, _: _validate_validating_binding(new),
)
MUTATING_POLICY_BINDING = Rules(
    default=_default_binding,
    validate=_validate_mutating_binding,
    validate_update=lambda new, _: _validate_mutating_binding(new),
)
