"""ServiceAccount: the identity of pods; ``/token`` issues credentials for it."""

from __future__ import annotations

from proreus.api.group_version import GroupVersionKind
from proreus.server.kinds.parts.cells import NAME_AND_AGE
from proreus.server.resource import Lifecycle, Names, Resource, Subresource
from proreus.server.resource.subresource import CREATE_ONLY

RESOURCES = (
    Resource(
        names=Names.of("", "v1", "ServiceAccount", "serviceaccounts", "sa"),
        namespaced=True,
        subresources=(
            Subresource(
                name="token",
                kind=GroupVersionKind("authentication.k8s.io", "v1", "TokenRequest"),
                verbs=CREATE_ONLY,
            ),
        ),
        lifecycle=Lifecycle(returns_deleted=True),
        printer=NAME_AND_AGE,
    ),
)
