"""Kinds of ``discovery.k8s.io/v1``."""

from __future__ import annotations

from proreus.server.registry.builtin.declare import Group
from proreus.server.registry.resource import Resource

_V1 = Group("discovery.k8s.io", "v1")

RESOURCES: tuple[Resource, ...] = (
    _V1.resource("EndpointSlice", "endpointslices", namespaced=True, tracks_generation=True),
)
