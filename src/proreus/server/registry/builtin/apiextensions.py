"""Kinds of ``apiextensions.k8s.io/v1``: the definitions custom resources are made from."""

from __future__ import annotations

from proreus.server.registry.builtin.declare import Group
from proreus.server.registry.resource import Resource

_V1 = Group("apiextensions.k8s.io", "v1")

RESOURCES: tuple[Resource, ...] = (
    _V1.resource(
        "CustomResourceDefinition",
        "customresourcedefinitions",
        namespaced=False,
        short_names=("crd", "crds"),
        categories=("api-extensions",),
        status=True,
        storage_prefix="apiextensions.k8s.io/customresourcedefinitions",
        tracks_generation=True,
        unconditional_update=False,
        returns_deleted=True,
    ),
)
