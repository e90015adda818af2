"""Kinds of ``certificates.k8s.io/v1``."""

from __future__ import annotations

from proreus.server.registry.builtin import selectable
from proreus.server.registry.builtin.declare import Group
from proreus.server.registry.resource import Resource

_V1 = Group("certificates.k8s.io", "v1")

RESOURCES: tuple[Resource, ...] = (
    _V1.resource(
        "CertificateSigningRequest",
        "certificatesigningrequests",
        namespaced=False,
        short_names=("csr",),
        status=True,
        subresources=(_V1.sub("approval", "CertificateSigningRequest"),),
        selectable=selectable.SIGNER,
        name_rule="path-segment",
    ),
    _V1.resource(
        "ClusterTrustBundle",
        "clustertrustbundles",
        namespaced=False,
        selectable=selectable.SIGNER,
        unconditional_update=False,
        name_rule="path-segment",
    ),
    _V1.resource(
        "PodCertificateRequest",
        "podcertificaterequests",
        namespaced=True,
        status=True,
        selectable=selectable.POD_CERTIFICATE,
        unconditional_update=False,
    ),
)
