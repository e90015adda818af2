"""Aggregated cluster roles over the wire: what they gather follows the roles that they select."""

from __future__ import annotations

from typing import Any

from proreus.api.object import KubeObject
from tests.cluster.controllers.stage import Stage

CONTROLLERS = ("clusterrole-aggregation",)
PODS = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}
JOBS = {"apiGroups": ["batch"], "resources": ["jobs"], "verbs": ["get"]}


def role(name: str, *rules: Any, labels: dict[str, str] | None = None) -> dict[str, Any]:
    return {"metadata": {"name": name, "labels": labels or {}}, "rules": list(rules)}


async def test_rules_of_selected_roles_are_gathered_and_let_go(stage: Stage) -> None:
    roles = stage.client.resource("clusterroles.rbac.authorization.k8s.io")

    def has(*rules: Any) -> Any:
        def holds(obj: KubeObject | None) -> bool:
            return obj is not None and (obj.to_dict().get("rules") or []) == list(rules)

        return holds

    selectors = [{"matchLabels": {"to": "all"}}]
    gathering = {**role("all"), "aggregationRule": {"clusterRoleSelectors": selectors}}
    await roles.create(role("a", PODS, labels={"to": "all"}))
    await roles.create(gathering)
    await stage.wait(roles, "all", has(PODS))

    await roles.create(role("b", JOBS, PODS, labels={"to": "all"}))
    await stage.wait(roles, "all", has(PODS, JOBS))

    await roles.patch("a", {"metadata": {"labels": {"to": None}}})
    await stage.wait(roles, "all", has(JOBS, PODS))

    await roles.delete("b")
    await stage.wait(roles, "all", has())
