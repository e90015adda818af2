"""Binding: puts a pod on a node; only created, never stored."""

from __future__ import annotations

from proreus.server.resource import Names, Resource, Unstored
from proreus.server.resource.subresource import CREATE_ONLY

RESOURCES = (
    Resource(
        names=Names.of("", "v1", "Binding", "bindings"),
        namespaced=True,
        verbs=CREATE_ONLY,
        unstored=Unstored.BINDING,
    ),
)
