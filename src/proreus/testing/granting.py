"""Rights for users of a test, as roles and bindings. Pure.

    {"pods": ["get", "list"], "deployments.apps/scale": ["update"], "/metrics": ["get"]}

A key is a resource as kubectl names it, with its group behind a dot and a subresource behind a
slash; ``*`` is any; a path of no resource begins with a slash.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from proreus.api.json_types import JsonObject

GROUP = "rbac.authorization.k8s.io"
Rules = Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class Grant:
    """``allow``: verbs by resource. ``role``: a cluster role that exists, as ``edit``. Both hold in
    ``namespace``, or everywhere without one."""

    allow: Rules = field(default_factory=dict)
    role: str = ""
    namespace: str = ""

    def __post_init__(self) -> None:
        if self.namespace and any(key.startswith("/") for key in self.allow):
            raise ValueError("paths of no resource are in no namespace")


def rules_of(allow: Rules) -> list[JsonObject]:
    """The rules of a role."""
    return [_rule(key, list(verbs)) for key, verbs in allow.items()]


def binding_of(user: str, role_kind: str, role: str) -> JsonObject:
    return {
        "metadata": {"generateName": "test-user-"},
        "roleRef": {"apiGroup": GROUP, "kind": role_kind, "name": role},
        "subjects": [{"apiGroup": GROUP, "kind": "User", "name": user}],
    }


def _rule(key: str, verbs: list[str]) -> JsonObject:
    if key.startswith("/"):
        return {"nonResourceURLs": [key], "verbs": verbs}
    resource, slash, subresource = key.partition("/")
    name, _, group = resource.partition(".")
    return {"apiGroups": [group], "resources": [f"{name}{slash}{subresource}"], "verbs": verbs}
