"""RBAC evaluated as Kubernetes' documentation tells it: every binding and rule, one after another.

Slow and obvious: what the compiled authorizer is compared with.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from proreus.server.authz.authorizer import Action
from proreus.server.authz.rbac.bindings import Binding, Subject
from proreus.server.authz.rbac.rules import PolicyRule
from proreus.server.registry.user import User

Key = tuple[str, str]


@dataclass(slots=True)
class Naive:
    roles: dict[Key, tuple[PolicyRule, ...]] = field(default_factory=dict)
    bindings: dict[Key, Binding] = field(default_factory=dict)

    def allowed_by(self, action: Action) -> tuple[str, list[str]]:
        """What the reason names, "" if nothing allows it; and the roles that do not exist."""
        missing: list[str] = []
        for namespace in ["", action.namespace] if action.namespace else [""]:
            for binding in self._of(namespace):
                subject = _first_subject(binding, action.user)
                if subject is None:
                    continue
                role_namespace = binding.namespace if binding.role_kind == "Role" else ""
                rules = self.roles.get((role_namespace, binding.role_name))
                if rules is None:
                    missing.append(binding.role_name)
                elif any(rule_allows(rule, action) for rule in rules):
                    return binding.describe(subject), missing
        return "", missing

    def _of(self, namespace: str) -> list[Binding]:
        return [b for (place, _), b in sorted(self.bindings.items()) if place == namespace]


def _first_subject(binding: Binding, user: User) -> Subject | None:
    for subject in binding.subjects:
        if subject.kind == "User" and subject.name == user.name:
            return subject
        if subject.kind == "Group" and subject.name in user.groups:
            return subject
        namespace = subject.namespace or binding.namespace
        account = f"system:serviceaccount:{namespace}:{subject.name}"
        if subject.kind == "ServiceAccount" and namespace and account == user.name:
            return subject
    return None


def rule_allows(rule: PolicyRule, action: Action) -> bool:
    if action.verb not in rule.verbs and "*" not in rule.verbs:
        return False
    if action.path:
        return any(_url_matches(url, action.path) for url in rule.urls)
    if action.group not in rule.groups and "*" not in rule.groups:
        return False
    if rule.names and action.name not in rule.names:
        return False
    return any(_resource_matches(resource, action) for resource in rule.resources)


def _resource_matches(pattern: str, action: Action) -> bool:
    if pattern == "*":
        return True
    if not action.subresource:
        return pattern == action.resource
    return pattern in (f"{action.resource}/{action.subresource}", f"*/{action.subresource}")


def _url_matches(pattern: str, path: str) -> bool:
    return pattern == path or (pattern.endswith("*") and path.startswith(pattern.rstrip("*")))
