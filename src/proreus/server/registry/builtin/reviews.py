"""Questions one can only POST: ``authentication.k8s.io/v1`` and ``authorization.k8s.io/v1``.

Nothing of them is stored; the answer is the created object.
"""

from __future__ import annotations

from proreus.server.registry.builtin.declare import CREATE_ONLY, Group
from proreus.server.registry.resource import Resource

_AUTHENTICATION = Group("authentication.k8s.io", "v1")
_AUTHORIZATION = Group("authorization.k8s.io", "v1")


def _review(group: Group, kind: str, *, namespaced: bool = False) -> Resource:
    return group.resource(kind, f"{kind.lower()}s", namespaced=namespaced, verbs=CREATE_ONLY)


RESOURCES: tuple[Resource, ...] = (
    _review(_AUTHENTICATION, "SelfSubjectReview"),
    _review(_AUTHENTICATION, "TokenReview"),
    _review(_AUTHORIZATION, "LocalSubjectAccessReview", namespaced=True),
    _review(_AUTHORIZATION, "SelfSubjectAccessReview"),
    _review(_AUTHORIZATION, "SelfSubjectRulesReview"),
    _review(_AUTHORIZATION, "SubjectAccessReview"),
)
