"""What Kubernetes' own signers certify. Pure.

Each check says why a request does not fit its signer, in Kubernetes' words; "": it fits.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from proreus.api.signers import API_CLIENT, KUBELET_CLIENT, KUBELET_SERVING, LEGACY_UNKNOWN

if TYPE_CHECKING:
    from proreus.net.tls.signing_requests import SigningRequest

REQUESTS = "certificatesigningrequests.certificates.k8s.io"
_NODES, _NODE = "system:nodes", "system:node:"
_SIGNATURE, _ENCIPHERMENT = "digital signature", "key encipherment"
_CLIENT, _SERVER = "client auth", "server auth"
_MIN_S = 600.0

Check = Callable[["SigningRequest", Sequence[str]], str]


def fault(signer: str, asked: SigningRequest, usages: Sequence[str]) -> str | None:
    """None: the signer is somebody else's."""
    check = _CHECKS.get(signer)
    return None if check is None else check(asked, usages)


def lasts_s(requested_s: int | None, max_s: float) -> float:
    """How long a certificate is good: as long as asked for, within bounds."""
    return max_s if requested_s is None else min(max(float(requested_s), _MIN_S), max_s)


def kubelet_client_fault(asked: SigningRequest, usages: Sequence[str]) -> str:
    if asked.organizations != (_NODES,):
        return "subject organization is not system:nodes"
    names = {
        "DNS": asked.dns_names,
        "Email": asked.emails,
        "IP": asked.ip_addresses,
        "URI": asked.uris,
    }
    for kind, found in names.items():
        if found:
            return f"{kind} subjectAltNames are not allowed"
    return _node_name_fault(asked) or _usage_fault(usages, _CLIENT)


def _kubelet_serving_fault(asked: SigningRequest, usages: Sequence[str]) -> str:
    if asked.organizations != (_NODES,):
        return "subject organization is not system:nodes"
    if not (asked.dns_names or asked.ip_addresses):
        return "DNS or IP subjectAltName is required"
    if asked.emails:
        return "Email subjectAltNames are not allowed"
    if asked.uris:
        return "URI subjectAltNames are not allowed"
    return _usage_fault(usages, _SERVER) or _node_name_fault(asked)


def _api_client_fault(_: SigningRequest, usages: Sequence[str]) -> str:
    for usage in usages:
        if usage not in (_SIGNATURE, _ENCIPHERMENT, _CLIENT):
            return f"invalid usage for client certificate: {usage}"
    if _CLIENT not in usages:
        return f"missing required usage for client certificate: {_CLIENT}"
    return ""


def _anything(_: SigningRequest, __: Sequence[str]) -> str:
    return ""


def _node_name_fault(asked: SigningRequest) -> str:
    if asked.common_name.startswith(_NODE):
        return ""
    return f"subject common name does not begin with {_NODE}"


def _usage_fault(usages: Collection[str], wanted: str) -> str:
    """Key encipherment is RSA's."""
    found = set(usages)
    if found - {_ENCIPHERMENT} == {_SIGNATURE, wanted}:
        return ""
    return f"usages did not match [{' '.join(sorted((_SIGNATURE, _ENCIPHERMENT, wanted)))}]"


_CHECKS: Mapping[str, Check] = {
    API_CLIENT: _api_client_fault,
    KUBELET_CLIENT: kubelet_client_fault,
    KUBELET_SERVING: _kubelet_serving_fault,
    LEGACY_UNKNOWN: _anything,
}
