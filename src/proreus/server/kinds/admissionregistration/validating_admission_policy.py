"""ValidatingAdmissionPolicy: refuses objects by expressions on admission."""

from __future__ import annotations

from typing import TYPE_CHECKING

from proreus.api.field_error import FieldError
from proreus.api.json_types import Json, JsonObject
from proreus.api.jsonpath import JsonPath, PathError
from proreus.api.values import names
from proreus.server.kinds.parts.admission_policies import (
    admission_policy,
    check_compiled,
    check_expression,
    check_policy,
)
from proreus.server.kinds.parts.conditions import check_conditions
from proreus.server.kinds.parts.findings import Findings, items

if TYPE_CHECKING:
    from proreus.server.cel.policy import PolicyCompiler

_ANNOTATIONS_MAX = 20
_ANNOTATION_BYTES = 5 * 1024
_REASONS = ("Forbidden", "Invalid", "RequestEntityTooLarge")


def _violations(obj: JsonObject) -> list[FieldError]:
    found, spec = Findings(), obj["spec"]
    compiler = check_policy(found, spec)
    validations, annotations = spec.get("validations"), spec.get("auditAnnotations")
    if not validations and not annotations:
        why = "validations or auditAnnotations must contain at least one item"
        for key in ("validations", "auditAnnotations"):
            found.require(f"spec.{key}", None, why)
    for where, validation in items(validations, "spec.validations"):
        _check_validation(found, where, validation, compiler)
    _check_annotations(found, obj["metadata"].get("name") or "", annotations or [], compiler)
    return found


def _check_validation(
    found: Findings, at: str, validation: Json, compiler: PolicyCompiler | None
) -> None:
    expression = validation.get("expression") or ""
    text, message = validation.get("messageExpression") or "", validation.get("message") or ""
    if check_expression(found, f"{at}.expression", expression) and compiler is not None:
        check_compiled(found, f"{at}.expression", expression, compiler.condition)
    if text and not text.strip():
        found.invalid(f"{at}.messageExpression", text, "must be non-empty if specified")
    elif text and compiler is not None:
        check_compiled(found, f"{at}.messageExpression", text, compiler.message)
    if message and not message.strip():
        found.invalid(f"{at}.message", message, "must be non-empty if specified")
    elif "\n" in message.strip() or "\r" in message.strip():
        found.invalid(f"{at}.message", message, "must not contain line breaks")
    found.one_of(f"{at}.reason", validation.get("reason"), _REASONS)


def _check_annotations(
    found: Findings, policy: str, annotations: list[Json], compiler: PolicyCompiler | None
) -> None:
    at = "spec.auditAnnotations"
    if len(annotations) > _ANNOTATIONS_MAX:
        why = f"must not have more than {_ANNOTATIONS_MAX} auditAnnotations"
        printed = [
            {"Key": entry.get("key") or "", "ValueExpression": entry.get("valueExpression") or ""}
            for entry in annotations
        ]
        found.invalid(at, printed, why)
    seen: set[str] = set()
    for where, entry in items(annotations, at):
        key = entry.get("key") or ""
        found.name(f"{where}.key", f"{policy}/{key}", names.qualified_name)
        _check_value(found, f"{where}.valueExpression", entry, compiler)
        if key in seen:
            found.duplicate(f"{where}.key", key)
        seen.add(key)


def _check_value(found: Findings, at: str, entry: Json, compiler: PolicyCompiler | None) -> None:
    text = (entry.get("valueExpression") or "").strip()
    if not found.require(at, text, "valueExpression is not specified"):
        return
    if len(text.encode()) > _ANNOTATION_BYTES:
        found.require(at, None, f"must not exceed {_ANNOTATION_BYTES} bytes in length")
    elif compiler is not None:
        # What is compiled has no blanks around it; what is printed is what was sent.
        check_compiled(found, at, entry["valueExpression"], lambda _: compiler.annotation(text))


def _validate_status(new: JsonObject, old: JsonObject) -> list[FieldError]:
    found, status = Findings(), new.get("status") or {}
    warnings = (status.get("typeChecking") or {}).get("expressionWarnings")
    for where, warning in items(warnings, "status.typeChecking.expressionWarnings"):
        found.require(f"{where}.warning", warning.get("warning"))
        field = (warning.get("fieldRef") or "").strip()
        if found.require(f"{where}.fieldRef", field):
            try:
                JsonPath(f".{field.lstrip('.')}")
            except PathError as error:
                found.invalid(f"{where}.fieldRef", field, f"invalid JSONPath: {error}")
    check_conditions(found, "status.conditions", status.get("conditions"))
    return found


RESOURCES = (
    admission_policy(
        "ValidatingAdmissionPolicy", "validations", _violations, validate_status=_validate_status
    ),
)
