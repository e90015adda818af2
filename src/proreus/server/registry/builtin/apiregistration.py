"""Kinds of ``apiregistration.k8s.io/v1``."""

from __future__ import annotations

from proreus.server.registry.builtin.declare import Group
from proreus.server.registry.resource import Resource

_V1 = Group("apiregistration.k8s.io", "v1")

RESOURCES: tuple[Resource, ...] = (
    _V1.resource(
        "APIService",
        "apiservices",
        namespaced=False,
        categories=("api-extensions",),
        status=True,
        status_only=True,
        storage_prefix="apiregistration.k8s.io/apiservices",
        unconditional_update=False,
        name_rule="path-segment",
    ),
)
