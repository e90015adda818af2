"""Kinds of ``flowcontrol.apiserver.k8s.io/v1``."""

from __future__ import annotations

from proreus.server.registry.builtin.declare import Group
from proreus.server.registry.resource import Resource

_V1 = Group("flowcontrol.apiserver.k8s.io", "v1")

RESOURCES: tuple[Resource, ...] = (
    _V1.resource(
        "FlowSchema",
        "flowschemas",
        namespaced=False,
        status=True,
        tracks_generation=True,
        status_only=True,
    ),
    _V1.resource(
        "PriorityLevelConfiguration",
        "prioritylevelconfigurations",
        namespaced=False,
        status=True,
        tracks_generation=True,
        status_only=True,
    ),
)
