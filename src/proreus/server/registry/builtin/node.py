"""Kinds of ``node.k8s.io/v1``."""

from __future__ import annotations

from proreus.server.registry.builtin.declare import Group
from proreus.server.registry.resource import Resource

_V1 = Group("node.k8s.io", "v1")

RESOURCES: tuple[Resource, ...] = (
    _V1.resource(
        "RuntimeClass",
        "runtimeclasses",
        namespaced=False,
        unconditional_update=False,
        create_on_update=True,
    ),
)
