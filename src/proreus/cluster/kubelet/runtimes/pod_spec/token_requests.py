"""The tokens of its service account that a pod's volumes want."""

from __future__ import annotations

from dataclasses import dataclass

from proreus.api.json_types import Json
from proreus.cluster.kubelet.runtimes.pod_spec.pod_spec import PodSpec


@dataclass(frozen=True, slots=True)
class TokenRequest:
    """A token that a volume wants; equal requests share one."""

    audience: str
    expires_s: int


def token_requests(pod: PodSpec) -> set[TokenRequest]:
    return {
        token_request(token)
        for volume in pod.spec.get("volumes") or ()
        for source in (volume.get("projected") or {}).get("sources") or ()
        if (token := source.get("serviceAccountToken"))
    }


def token_request(token: Json) -> TokenRequest:
    return TokenRequest(token.get("audience") or "", int(token.get("expirationSeconds") or 3600))
