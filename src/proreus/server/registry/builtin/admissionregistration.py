"""Kinds of ``admissionregistration.k8s.io/v1``."""

from __future__ import annotations

from proreus.server.registry.builtin.declare import Group
from proreus.server.registry.resource import Resource

_V1 = Group("admissionregistration.k8s.io", "v1")


def _configuration(kind: str, plural: str, *, status: bool = False) -> Resource:
    return _V1.resource(
        kind,
        plural,
        namespaced=False,
        categories=("api-extensions",),
        status=status,
        status_only=True,
        tracks_generation=True,
        unconditional_update=False,
    )


RESOURCES: tuple[Resource, ...] = (
    _configuration("MutatingAdmissionPolicy", "mutatingadmissionpolicies"),
    _configuration("MutatingAdmissionPolicyBinding", "mutatingadmissionpolicybindings"),
    _configuration("MutatingWebhookConfiguration", "mutatingwebhookconfigurations"),
    _configuration("ValidatingAdmissionPolicy", "validatingadmissionpolicies", status=True),
    _configuration("ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings"),
    _configuration("ValidatingWebhookConfiguration", "validatingwebhookconfigurations"),
)
