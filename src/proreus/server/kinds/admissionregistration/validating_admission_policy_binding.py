"""ValidatingAdmissionPolicyBinding: the resources and parameters a validating policy applies to."""

from __future__ import annotations

from proreus.api.field_error import FieldError
from proreus.api.json_types import JsonObject
from proreus.server.kinds.parts.admission_kinds import admission_kind
from proreus.server.kinds.parts.admission_policies import (
    BINDING_PRINTER,
    check_binding,
    check_declared_binding,
    default_binding,
)
from proreus.server.kinds.parts.findings import Findings, repeats
from proreus.server.resource import Rules

_TWICE = (
    "must not contain both Deny and Warn (repeating the same validation failure information in the "
    "API response and headers serves no purpose)"
)


def _validate(obj: JsonObject) -> list[FieldError]:
    found, spec = Findings(), obj.get("spec") or {}
    check_binding(found, spec, "spec.matchResouces")  # spelled like this here
    at, actions = "spec.validationActions", spec.get("validationActions") or []
    for where, action, is_repeated in repeats(actions, at):
        found.one_of(where, action, ("Audit", "Deny", "Warn"))
        if is_repeated:
            found.duplicate(where, action)
    if "Deny" in actions and "Warn" in actions:
        found.invalid(at, actions, _TWICE)
    check_declared_binding(found, spec)
    found.require(at, actions)
    return found


RESOURCES = (
    admission_kind(
        "ValidatingAdmissionPolicyBinding",
        "validatingadmissionpolicybindings",
        Rules(default=default_binding, validate=_validate),
        BINDING_PRINTER,
    ),
)
