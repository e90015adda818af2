"""Kinds of ``storage.k8s.io/v1``."""

from __future__ import annotations

from proreus.server.registry.builtin.declare import Group
from proreus.server.registry.resource import Resource

_V1 = Group("storage.k8s.io", "v1")

RESOURCES: tuple[Resource, ...] = (
    _V1.resource(
        "CSIDriver",
        "csidrivers",
        namespaced=False,
        tracks_generation=True,
        generation_starts=False,
        unconditional_update=False,
        returns_deleted=True,
    ),
    _V1.resource(
        "CSINode",
        "csinodes",
        namespaced=False,
        status=True,
        unconditional_update=False,
        returns_deleted=True,
    ),
    _V1.resource(
        "CSIStorageCapacity",
        "csistoragecapacities",
        namespaced=True,
        unconditional_update=False,
    ),
    _V1.resource(
        "StorageClass",
        "storageclasses",
        namespaced=False,
        short_names=("sc",),
        returns_deleted=True,
    ),
    _V1.resource(
        "VolumeAttachment",
        "volumeattachments",
        namespaced=False,
        status=True,
        status_only=True,
        unconditional_update=False,
        returns_deleted=True,
    ),
    _V1.resource(
        "VolumeAttributesClass",
        "volumeattributesclasses",
        namespaced=False,
        short_names=("vac",),
        returns_deleted=True,
    ),
)
