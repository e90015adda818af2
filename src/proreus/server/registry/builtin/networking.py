"""Kinds of ``networking.k8s.io/v1``."""

from __future__ import annotations

from proreus.server.registry.builtin.declare import Group
from proreus.server.registry.resource import Resource

_V1 = Group("networking.k8s.io", "v1")

RESOURCES: tuple[Resource, ...] = (
    _V1.resource(
        "Ingress",
        "ingresses",
        namespaced=True,
        short_names=("ing",),
        status=True,
        storage_prefix="ingress",
        tracks_generation=True,
    ),
    _V1.resource("IngressClass", "ingressclasses", namespaced=False, tracks_generation=True),
    _V1.resource(
        "IPAddress",
        "ipaddresses",
        namespaced=False,
        short_names=("ip",),
        name_rule="path-segment",
    ),
    _V1.resource(
        "NetworkPolicy",
        "networkpolicies",
        namespaced=True,
        short_names=("netpol",),
        tracks_generation=True,
    ),
    _V1.resource("ServiceCIDR", "servicecidrs", namespaced=False, status=True),
)
