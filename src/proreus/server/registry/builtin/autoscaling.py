"""Kinds of ``autoscaling/v2`` and ``autoscaling/v1``: one kind in two versions, stored as v2."""

from __future__ import annotations

from proreus.server.registry.builtin.declare import Group
from proreus.server.registry.resource import Resource


def _autoscaler(version: str) -> Resource:
    return Group("autoscaling", version).resource(
        "HorizontalPodAutoscaler",
        "horizontalpodautoscalers",
        namespaced=True,
        short_names=("hpa",),
        categories=("all",),
        status=True,
        storage_version="v2",
        tracks_generation=True,
    )


RESOURCES: tuple[Resource, ...] = (_autoscaler("v2"), _autoscaler("v1"))
