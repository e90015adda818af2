"""Kinds of ``batch/v1``."""

from __future__ import annotations

from proreus.server.registry.builtin import selectable
from proreus.server.registry.builtin.declare import Group
from proreus.server.registry.resource import Resource

_V1 = Group("batch", "v1")

RESOURCES: tuple[Resource, ...] = (
    _V1.resource(
        "CronJob",
        "cronjobs",
        namespaced=True,
        short_names=("cj",),
        categories=("all",),
        status=True,
        tracks_generation=True,
    ),
    _V1.resource(
        "Job",
        "jobs",
        namespaced=True,
        categories=("all",),
        status=True,
        selectable=selectable.JOB,
        tracks_generation=True,
        default_propagation="Orphan",
    ),
)
