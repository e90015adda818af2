"""Aggregated cluster roles: their rules are those of all roles that their selectors match.

Receives: keys of aggregated roles, from their own events, and of all of them when any cluster role
changes: it may have begun or ceased to match, or have other rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from proreus.api.object import KubeObject
from proreus.api.selectors.labels import LabelSelector
from proreus.client.controller import Controller, Result, Watch
from proreus.cluster.controllers.context import ControllerContext
from proreus.cluster.controllers.reconciler import ObjectReconciler

_ROLES = "clusterroles.rbac.authorization.k8s.io"
_MANAGER = "clusterrole-aggregation-controller"


def is_aggregated(role: KubeObject) -> bool:
    return bool(role.aggregationRule)


def aggregated_rules(role: KubeObject, roles: Iterable[KubeObject]) -> list[dict[str, Any]]:
    """Selector by selector, roles in the order of their names, each rule once."""
    by_name = sorted(roles, key=lambda other: other.name)
    found: list[dict[str, Any]] = []
    for selector in role.to_dict()["aggregationRule"].get("clusterRoleSelectors") or ():
        wanted = LabelSelector.from_object(selector)
        for other in by_name:
            if other.name != role.name and wanted.matches(other.labels):
                rules = other.to_dict().get("rules") or ()
                found += [rule for rule in rules if rule not in found]
    return found


class AggregatedRoles(ObjectReconciler):
    async def sync(self, role: KubeObject) -> Result | None:
        if not is_aggregated(role):
            return None
        rules = aggregated_rules(role, self.informer.indexer.objects())
        if rules == (role.to_dict().get("rules") or []):
            return None
        content = {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRole",
            "metadata": {"name": role.name},
            "rules": rules,
        }
        await self.api.apply(content, field_manager=_MANAGER, force=True)
        return None

    def aggregated(self, _: KubeObject) -> Iterator[str]:
        return (role.key for role in self.informer.indexer.objects() if is_aggregated(role))


def cluster_role_aggregation_controller(context: ControllerContext) -> Controller:
    roles = AggregatedRoles(context, _ROLES)
    watches = [Watch(roles.informer, roles.aggregated)]
    return roles.controller("clusterrole-aggregation", watches=watches)
