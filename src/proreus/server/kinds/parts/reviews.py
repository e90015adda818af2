"""Reviews: questions to the server. They are only created, which answers them, and never stored."""

from __future__ import annotations

from proreus.server.resource import Names, Resource, Unstored
from proreus.server.resource.subresource import CREATE_ONLY


def review(group: str, kind: str, *, namespaced: bool = False) -> Resource:
    return Resource(
        names=Names.of(group, "v1", kind, f"{kind.lower()}s"),
        namespaced=namespaced,
        verbs=CREATE_ONLY,
        unstored=Unstored.REVIEW,
    )
