"""Kinds of ``scheduling.k8s.io/v1``."""

from __future__ import annotations

from proreus.server.registry.builtin.declare import Group
from proreus.server.registry.resource import Resource

_V1 = Group("scheduling.k8s.io", "v1")

RESOURCES: tuple[Resource, ...] = (
    _V1.resource(
        "PriorityClass",
        "priorityclasses",
        namespaced=False,
        short_names=("pc",),
        tracks_generation=True,
        generation_grows=False,
    ),
)
