"""MutatingAdmissionPolicyBinding: the resources and parameters a mutating policy applies to."""

from __future__ import annotations

from proreus.api.field_error import FieldError
from proreus.api.json_types import JsonObject
from proreus.server.kinds.parts.admission_kinds import admission_kind
from proreus.server.kinds.parts.admission_policies import (
    BINDING_PRINTER,
    MUTATING_OPERATIONS,
    check_binding,
    check_declared_binding,
    check_operations,
    default_binding,
)
from proreus.server.kinds.parts.findings import Findings
from proreus.server.resource import Rules


def _validate(obj: JsonObject) -> list[FieldError]:
    found = Findings()
    spec = obj.get("spec") or {}
    check_binding(found, spec, "spec.matchResources")
    check_operations(
        found, "spec.matchResources", spec.get("matchResources") or {}, MUTATING_OPERATIONS
    )
    check_declared_binding(found, spec)
    return found


RESOURCES = (
    admission_kind(
        "MutatingAdmissionPolicyBinding",
        "mutatingadmissionpolicybindings",
        Rules(default=default_binding, validate=_validate),
        BINDING_PRINTER,
    ),
)
