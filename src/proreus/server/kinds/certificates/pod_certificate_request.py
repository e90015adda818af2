"""PodCertificateRequest: a kubelet's request for a certificate of a pod."""

from __future__ import annotations

from dataclasses import replace

from proreus.server.resource import Lifecycle, Names, Resource, at_paths

_FIELDS = replace(at_paths("spec.nodeName", "spec.podName", "spec.signerName"), by_namespace=False)

RESOURCES = (
    Resource(
        names=Names.of(
            "certificates.k8s.io", "v1", "PodCertificateRequest", "podcertificaterequests"
        ),
        namespaced=True,
        has_status=True,
        lifecycle=Lifecycle(unconditional_update=False),
        selectable=_FIELDS,
    ),
)
