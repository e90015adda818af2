"""Who a binding gives a role to, and how Kubernetes describes it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from proreus.api.go_text import quoted

USER, GROUP, SERVICE_ACCOUNT = "User", "Group", "ServiceAccount"
ROLE, CLUSTER_ROLE = "Role", "ClusterRole"


class Subject(msgspec.Struct, frozen=True):
    kind: str
    name: str
    namespace: str = ""


class Binding(msgspec.Struct, frozen=True, kw_only=True):
    """``namespace`` "": a ClusterRoleBinding."""

    namespace: str = ""
    name: str
    role_kind: str
    role_name: str
    subjects: tuple[Subject, ...] = ()

    @classmethod
    def of(cls, namespace: str, name: str, wire: Mapping[str, Any]) -> Binding:
        """From a RoleBinding or ClusterRoleBinding. Raises AttributeError for what is none."""
        reference = wire.get("roleRef") or {}
        return cls(
            namespace=namespace,
            name=name,
            role_kind=reference.get("kind") or "",
            role_name=reference.get("name") or "",
            subjects=tuple(
                Subject(
                    subject.get("kind") or "",
                    subject.get("name") or "",
                    subject.get("namespace") or "",
                )
                for subject in wire.get("subjects") or ()
            ),
        )

    @property
    def role(self) -> tuple[str, str]:
        """Namespace and name of the role it refers to; cluster roles have no namespace."""
        return (self.namespace if self.role_kind == ROLE else "", self.role_name)

    def user_name(self, subject: Subject) -> str:
        """Whom a subject that is no group means; "": nobody."""
        if subject.kind == USER:
            return subject.name
        namespace = subject.namespace or self.namespace
        if subject.kind != SERVICE_ACCOUNT or not namespace:
            return ""
        return f"system:serviceaccount:{namespace}:{subject.name}"

    def describe(self, subject: Subject) -> str:
        kind = "RoleBinding" if self.namespace else "ClusterRoleBinding"
        name = f"{self.name}/{self.namespace}" if self.namespace else self.name
        given = subject.name
        if subject.kind == SERVICE_ACCOUNT:
            given = f"{subject.name}/{subject.namespace or self.namespace}"
        role = f"{self.role_kind} {quoted(self.role_name)}"
        return f"{kind} {quoted(name)} of {role} to {subject.kind} {quoted(given)}"

    def missing_role(self) -> str:
        """What is said of a role that does not exist."""
        if self.role_kind not in (ROLE, CLUSTER_ROLE):
            return f"unsupported role reference kind: {quoted(self.role_kind)}"
        kind = f"{self.role_kind.lower()}.rbac.authorization.k8s.io"
        return f"{kind} {quoted(self.role_name)} not found"
