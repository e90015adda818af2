"""Kinds of ``policy/v1``. Evictions are a subresource of pods."""

from __future__ import annotations

from proreus.server.registry.builtin.declare import Group
from proreus.server.registry.resource import Resource

_V1 = Group("policy", "v1")

RESOURCES: tuple[Resource, ...] = (
    _V1.resource(
        "PodDisruptionBudget",
        "poddisruptionbudgets",
        namespaced=True,
        short_names=("pdb",),
        status=True,
        tracks_generation=True,
        unconditional_update=False,
    ),
)
