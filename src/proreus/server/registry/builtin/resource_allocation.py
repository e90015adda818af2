"""Kinds of ``resource.k8s.io/v1``: dynamic allocation of devices."""

from __future__ import annotations

from proreus.server.registry.builtin import selectable
from proreus.server.registry.builtin.declare import Group
from proreus.server.registry.resource import Resource

_V1 = Group("resource.k8s.io", "v1")

RESOURCES: tuple[Resource, ...] = (
    _V1.resource(
        "DeviceClass",
        "deviceclasses",
        namespaced=False,
        tracks_generation=True,
        returns_deleted=True,
    ),
    _V1.resource(
        "DeviceTaintRule",
        "devicetaintrules",
        namespaced=False,
        status=True,
        status_only=True,
        tracks_generation=True,
        returns_deleted=True,
    ),
    _V1.resource(
        "ResourceClaim",
        "resourceclaims",
        namespaced=True,
        status=True,
        status_only=True,
        returns_deleted=True,
    ),
    _V1.resource(
        "ResourceClaimTemplate", "resourceclaimtemplates", namespaced=True, returns_deleted=True
    ),
    _V1.resource(
        "ResourceSlice",
        "resourceslices",
        namespaced=False,
        selectable=selectable.RESOURCE_SLICE,
        tracks_generation=True,
        returns_deleted=True,
    ),
)
