"""The rules of a CustomResourceDefinition: defaults, status, validation (server.md §9.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from proreus.api import field_error
from proreus.api.field_error import FieldError
from proreus.api.json_types import JsonObject
from proreus.api.values import names
from proreus.api.wire import json
from proreus.server.custom.definition import conditions
from proreus.server.custom.definition.approval import approval_violations
from proreus.server.custom.definition.conversion_rules import conversion_violations, may_keep_bundle
from proreus.server.custom.definition.format_warnings import (
    format_warnings,
    new_format_warnings,
)
from proreus.server.custom.definition.versions import versions_violations
from proreus.server.offload import Lane, NeedsThread
from proreus.server.resource.rules import Rules, Validated

_QUICK_BYTES = 20_000
_NAMES = ("plural", "singular", "kind", "listKind")
_SCOPES = ("Cluster", "Namespaced")
_REMAIN = (
    "missing from spec.versions; {0} was previously a storage version, and must remain in "
    "spec.versions until a storage migration ensures no data remains persisted in {0} and removes "
    "{0} from status.storedVersions"
)


def _default(obj: JsonObject) -> None:
    spec = obj.setdefault("spec", {})
    given = spec.setdefault("names", {})
    kind = given.get("kind") or ""
    if kind and not given.get("singular"):
        given["singular"] = kind.lower()
    if kind and not given.get("listKind"):
        given["listKind"] = f"{kind}List"
    if spec.get("conversion") is None:
        spec["conversion"] = {"strategy": "None"}
    webhook = spec["conversion"].get("webhook") or {}
    if webhook.get("clientConfig") is None and webhook.get("conversionReviewVersions") is None:
        spec["conversion"].pop("webhook", None)  # its two fields are all that is kept of it
    config = webhook.get("clientConfig") or {}
    if isinstance(service := config.get("service"), dict):
        service.setdefault("port", 443)
    for version in spec.get("versions") or ():
        version.setdefault("served", False)
        version.setdefault("storage", False)
    if spec.get("preserveUnknownFields") is False:
        del spec["preserveUnknownFields"]


def _prepare_create(obj: JsonObject) -> None:
    obj["status"] = {
        "acceptedNames": {"kind": "", "plural": ""},
        "conditions": None,
        "storedVersions": None,
    }
    _note_stored_version(obj)


def _prepare_update(new: JsonObject, old: JsonObject) -> None:
    _note_stored_version(new)


def _note_stored_version(obj: JsonObject) -> None:
    """What objects are stored in from now on may be found in storage for ever."""
    storage = [v.get("name") for v in obj["spec"].get("versions") or () if v.get("storage")]
    if not storage:
        return
    status = obj["status"] = {**(obj.get("status") or {})}
    stored = list(status.get("storedVersions") or ())
    if storage[0] not in stored:
        stored.append(storage[0])
    status["storedVersions"] = stored


def _prepare_status(new: JsonObject, old: JsonObject) -> None:
    status = new["status"] = {**(new.get("status") or {})}
    if not status.get("storedVersions"):
        _note_stored_version(new)
    status = new["status"]
    status.setdefault("acceptedNames", {"kind": "", "plural": ""})
    status.setdefault("conditions", None)
    status.setdefault("storedVersions", None)


def _validate(obj: JsonObject) -> list[FieldError]:
    spec = obj["spec"]
    name = obj["metadata"].get("name") or ""
    found: list[FieldError] = []
    plural, group = spec.get("names", {}).get("plural") or "", spec.get("group") or ""
    for field, given in (("generateName", obj["metadata"].get("generateName")), ("name", name)):
        if given and given != f"{plural}.{group}":
            text = 'must be spec.names.plural+"."+spec.group'
            found.append(field_error.invalid(f"metadata.{field}", given, text))
    found += _spec_violations(obj, takes_any_bundle=True)
    found += _stored_violations(obj)
    found += approval_violations(obj, None)
    return found + _preserving(spec)


def _validate_update(new: JsonObject, old: JsonObject) -> list[FieldError]:
    found = _spec_violations(new, takes_any_bundle=may_keep_bundle(old))
    found += _immutable(new, old) + _stored_violations(new)
    found += approval_violations(new, old)
    return found if old["spec"].get("preserveUnknownFields") else found + _preserving(new["spec"])


def _immutable(new: JsonObject, old: JsonObject) -> list[FieldError]:
    spec, before = new["spec"], old["spec"]
    fixed: list[tuple[str, Any, Any]] = []
    if conditions.is_true(old, conditions.ESTABLISHED):
        fixed += [
            ("spec.scope", spec.get("scope"), before.get("scope")),
            ("spec.names.kind", spec["names"].get("kind"), before["names"].get("kind")),
        ]
    fixed += [
        ("spec.group", spec.get("group"), before.get("group")),
        ("spec.names.plural", spec["names"].get("plural"), before["names"].get("plural")),
    ]
    return [
        field_error.invalid(field, value, "field is immutable")
        for field, value, old_value in fixed
        if value != old_value
    ]


def _spec_violations(obj: JsonObject, *, takes_any_bundle: bool) -> list[FieldError]:
    spec = obj["spec"]
    found = _group_violations(spec.get("group") or "")
    scope = spec.get("scope") or ""
    if not scope:
        found.append(field_error.required("spec.scope"))
    elif scope not in _SCOPES:
        found.append(field_error.not_supported("spec.scope", scope, _SCOPES))
    early, late = versions_violations(spec)
    found += early + _names_violations(spec.get("names") or {}) + late
    conversion = spec.get("conversion") or {}
    if spec.get("preserveUnknownFields") and conversion.get("strategy") != "None":
        text = "must be None if spec.preserveUnknownFields is true"
        strategy = conversion.get("strategy") or ""
        found.append(field_error.invalid("spec.conversion.strategy", strategy, text))
    return found + conversion_violations(conversion, takes_any_bundle=takes_any_bundle)


def _preserving(spec: JsonObject) -> list[FieldError]:
    if not spec.get("preserveUnknownFields"):
        return []
    return [
        field_error.invalid(
            "spec.preserveUnknownFields",
            True,
            "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in "
            "spec.versions[*].schema instead",
        )
    ]


def _group_violations(group: str) -> list[FieldError]:
    if not group:
        return [field_error.required("spec.group")]
    if wrong := names.dns_subdomain(group):
        return [field_error.invalid("spec.group", group, ",".join(wrong))]
    if "." not in group:
        return [
            field_error.invalid("spec.group", group, "should be a domain with at least one dot")
        ]
    return []


def _validate_status(new: JsonObject, old: JsonObject) -> list[FieldError]:
    accepted = (new.get("status") or {}).get("acceptedNames") or {}
    return _form_of_names(accepted, "status.acceptedNames")


def _names_violations(given: JsonObject) -> list[FieldError]:
    at = "spec.names"
    found = [field_error.required(f"{at}.{field}") for field in _NAMES if not given.get(field)]
    return found + _form_of_names(given, at)


def _form_of_names(given: JsonObject, at: str) -> list[FieldError]:
    found: list[FieldError] = []
    for field in _NAMES:
        value = given.get(field) or ""
        is_kind = field in ("kind", "listKind")
        if value and (why := ",".join(names.dns_1035_label(value.lower() if is_kind else value))):
            text = f"may have mixed case, but should otherwise match: {why}" if is_kind else why
            found.append(field_error.invalid(f"{at}.{field}", value, text))
    found += _each_a_label(given.get("shortNames") or (), f"{at}.shortNames")
    kind = given.get("kind")
    if kind and kind == given.get("listKind"):
        found.append(
            field_error.invalid(f"{at}.listKind", kind, "kind and listKind may not be the same")
        )
    return found + _each_a_label(given.get("categories") or (), f"{at}.categories")


def _each_a_label(values: Sequence[str], at: str) -> list[FieldError]:
    return [
        field_error.invalid(f"{at}[{index}]", value, ",".join(why))
        for index, value in enumerate(values)
        if (why := names.dns_1035_label(value))
    ]


def _stored_violations(obj: JsonObject) -> list[FieldError]:
    at = "status.storedVersions"
    stored = (obj.get("status") or {}).get("storedVersions")
    if not stored:
        return [field_error.invalid(at, stored, "must have at least one stored version")]
    found, left = list[FieldError](), {name: index for index, name in enumerate(stored)}
    for version in obj["spec"].get("versions") or ():
        name = version.get("name") or ""
        if left.pop(name, None) is None and version.get("storage"):
            found.append(field_error.invalid(at, stored, f"must have the storage version {name}"))
    return found + [
        field_error.invalid(f"{at}[{index}]", name, _REMAIN.format(name))
        for name, index in left.items()
    ]


DEFINITION = Rules(
    default=_default,
    prepare_create=_prepare_create,
    prepare_update=_prepare_update,
    prepare_status=_prepare_status,
    validate=_validate,
    validate_update=_validate_update,
    validate_status=_validate_status,
    warnings=format_warnings,
    warnings_on_update=new_format_warnings,
)


def definition_rules(lane: Lane) -> Rules:
    """What is large, or has rules to be compiled, is validated in the lane."""

    def validate(obj: JsonObject) -> Validated:
        return _validate(obj) if _is_quick(obj) else NeedsThread(lambda: _validate(obj), lane)

    def validate_update(new: JsonObject, old: JsonObject) -> Validated:
        if _is_quick(new):
            return _validate_update(new, old)
        return NeedsThread(lambda: _validate_update(new, old), lane)

    return replace(DEFINITION, validate=validate, validate_update=validate_update)


def _is_quick(obj: JsonObject) -> bool:
    encoded = json.encode(obj["spec"])
    return len(encoded) < _QUICK_BYTES and b"x-kubernetes-validations" not in encoded
