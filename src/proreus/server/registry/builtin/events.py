"""Kinds of ``events.k8s.io/v1``: the events of the core group in another shape, stored as those."""

from __future__ import annotations

from proreus.server.registry.builtin import selectable
from proreus.server.registry.builtin.declare import Group
from proreus.server.registry.resource import Resource

_V1 = Group("events.k8s.io", "v1")
_TTL_S = 3600.0

RESOURCES: tuple[Resource, ...] = (
    _V1.resource(
        "Event",
        "events",
        namespaced=True,
        short_names=("ev",),
        storage_group="",
        selectable=selectable.EVENT,
        create_on_update=True,
        garbage_collected=False,
        cached=False,
        ttl_s=_TTL_S,
    ),
)
