"""Role: permissions in one namespace."""

from __future__ import annotations

from proreus.api.field_error import FieldError
from proreus.api.json_types import JsonObject
from proreus.server.kinds.parts.findings import Findings
from proreus.server.kinds.parts.policy_rules import check_rules
from proreus.server.kinds.parts.rbac_kinds import rbac_kind
from proreus.server.resource import Rules


def _validate(obj: JsonObject) -> list[FieldError]:
    found = Findings()
    check_rules(found, obj.get("rules"), namespaced=True)
    return found


RESOURCES = (rbac_kind("Role", namespaced=True, rules=Rules(validate=_validate)),)
