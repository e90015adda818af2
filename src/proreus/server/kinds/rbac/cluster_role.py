"""ClusterRole: permissions that can be granted in any namespace or in the cluster."""

from __future__ import annotations

from proreus.api.field_error import FieldError
from proreus.api.json_types import JsonObject
from proreus.server.kinds.parts.findings import Findings, items
from proreus.server.kinds.parts.label_selectors import check_selector, is_valid
from proreus.server.kinds.parts.policy_rules import check_rules
from proreus.server.kinds.parts.rbac_kinds import rbac_kind
from proreus.server.resource import Rules


def _validate(obj: JsonObject) -> list[FieldError]:
    found = Findings()
    check_rules(found, obj.get("rules"), namespaced=False)
    if (aggregation := obj.get("aggregationRule")) is not None:
        at = "aggregationRule.clusterRoleSelectors"
        selectors = aggregation.get("clusterRoleSelectors")
        why = "at least one clusterRoleSelector required if aggregationRule is non-nil"
        if found.require(at, selectors, why):
            for where, selector in items(selectors, at):
                check_selector(found, where, selector)
                if not is_valid(selector):
                    found.invalid(where, None, "invalid label selector.")
    return found


RESOURCES = (rbac_kind("ClusterRole", namespaced=False, rules=Rules(validate=_validate)),)
