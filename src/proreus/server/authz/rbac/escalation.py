"""Nobody grants what they do not hold (Kubernetes: the policy-based storage of RBAC).

Part of admission, behind all that may change the object: whoever writes a role must hold its rules
or may ``escalate`` it; whoever writes a binding must hold the rules of its role or may ``bind`` it.
An update that changes nothing but what the garbage collector needs is not asked for either.
"""

from __future__ import annotations

from collections.abc import Awaitable, Sequence

from proreus.api.go_text import quoted
from proreus.api.json_types import Json
from proreus.api.status import Forbidden, NotFound
from proreus.server.authz.authorizer import Action, Authorization
from proreus.server.authz.rbac.authorizer import Rbac
from proreus.server.authz.rbac.bindings import CLUSTER_ROLE, ROLE, Binding
from proreus.server.authz.rbac.covers import joined, missing
from proreus.server.authz.rbac.following import GROUP
from proreus.server.authz.rbac.rules import (
    ALL,
    EVERYTHING,
    PolicyRule,
    aggregated,
    quoted_list,
    rules_of,
)
from proreus.server.registry.admission import CREATE, UPDATE, Attributes
from proreus.server.registry.user import MASTERS

_ROLES = frozenset({"roles", "clusterroles"})
_BINDINGS = frozenset({"rolebindings", "clusterrolebindings"})


class EscalationPrevention:
    def __init__(self, rbac: Rbac, authorization: Authorization) -> None:
        self._rbac = rbac
        self._authorization = authorization

    def admit(self, attributes: Attributes) -> Awaitable[None] | None:
        """Raises Forbidden, or NotFound for a role that does not exist."""
        resource = attributes.resource
        if resource.group != GROUP or attributes.operation not in (CREATE, UPDATE):
            return None
        assert attributes.obj is not None, "what is created or updated"
        # Kubernetes compares the object as it came: who left its uid out changed that, too.
        is_same = attributes.has_server_fields and attributes.changes_only_collected
        if is_same or MASTERS in attributes.user.groups:
            return None
        if resource.plural in _ROLES:
            return self._check_role(attributes, attributes.obj)
        if resource.plural in _BINDINGS:
            return self._check_binding(attributes, attributes.obj)
        return None

    async def _check_role(self, attributes: Attributes, role: Json) -> None:
        plural = attributes.resource.plural
        if await self._may(attributes, "escalate", plural, attributes.path_name):
            return
        self._check_held(attributes, rules_of(role))
        if not (_is_aggregated(role) or _is_aggregated(attributes.old or {})):
            return
        if self._lacking(attributes, EVERYTHING):
            why = "must have cluster-admin privileges to use the aggregationRule"
            raise _forbidden(attributes, why)

    async def _check_binding(self, attributes: Attributes, obj: Json) -> None:
        binding = Binding.of(attributes.namespace, attributes.name, obj)
        plural = {ROLE: "roles", CLUSTER_ROLE: "clusterroles"}.get(binding.role_kind)
        if plural is not None and await self._may(attributes, "bind", plural, binding.role_name):
            return
        rules = self._rbac.role_rules(binding)
        if rules is None:
            # Kubernetes names the kind that is written, not the one that is missing.
            raise NotFound.of(attributes.resource.group_resource, binding.role_name)
        self._check_held(attributes, rules)

    def _check_held(self, attributes: Attributes, wanted: Sequence[PolicyRule]) -> None:
        lacking = self._lacking(attributes, wanted)
        if not lacking:
            return
        user = attributes.user
        rendered = "\n".join(sorted({str(rule) for rule in joined(lacking)}))
        why = (
            f"user {quoted(user.name)} (groups={quoted_list(user.groups)}) is attempting to grant "
            f"RBAC permissions not currently held:\n{rendered}"
        )
        if errors := self._rbac.rules_of(user, attributes.namespace).errors:
            why += f"; resolution errors: [{aggregated(errors)}]"
        raise _forbidden(attributes, why)

    def _lacking(self, attributes: Attributes, wanted: Sequence[PolicyRule]) -> list[PolicyRule]:
        held = self._rbac.rules_of(attributes.user, attributes.namespace).rules
        return missing(held, wanted)

    async def _may(self, attributes: Attributes, verb: str, plural: str, name: str) -> bool:
        action = Action(
            user=attributes.user,
            verb=verb,
            group=GROUP,
            version=ALL,
            resource=plural,
            namespace=attributes.namespace,
            name=name,
        )
        return await self._authorization.allows(action)


def _forbidden(attributes: Attributes, why: str) -> Forbidden:
    """The message has no name where one is yet to be generated."""
    name = (attributes.obj or {})["metadata"].get("name") or ""
    return Forbidden.of(attributes.resource.group_resource, name, why)


def _is_aggregated(role: Json) -> bool:
    return bool((role.get("aggregationRule") or {}).get("clusterRoleSelectors"))
