"""The certificates that a pod's volumes want, and the files they become. Pure."""

from __future__ import annotations

import base64

import msgspec

from proreus.api.json_types import Json, JsonObject
from proreus.cluster.kubelet.runtimes.pod_spec.pod_spec import PodSpec
from proreus.net.tls.key_pairs import KeyPair

_DEFAULT_S = 86400


class CertificateRequest(msgspec.Struct, frozen=True):
    """What a projected volume says of one. ``annotations`` are for the signer alone."""

    signer: str
    key_type: str
    expires_s: int
    annotations: tuple[tuple[str, str], ...] = ()
    bundle_path: str = ""
    key_path: str = ""
    chain_path: str = ""


class PodIdentity(msgspec.Struct, frozen=True):
    """The uids of those that a request names beside the pod."""

    account_uid: str
    node_uid: str


def certificate_requests(pod: PodSpec) -> list[CertificateRequest]:
    return [
        certificate_request(said)
        for volume in pod.spec.get("volumes") or ()
        for source in (volume.get("projected") or {}).get("sources") or ()
        if (said := source.get("podCertificate"))
    ]


def certificate_request(said: Json) -> CertificateRequest:
    return CertificateRequest(
        signer=said.get("signerName") or "",
        key_type=said.get("keyType") or "",
        expires_s=int(said.get("maxExpirationSeconds") or _DEFAULT_S),
        annotations=tuple(sorted((said.get("userAnnotations") or {}).items())),
        bundle_path=said.get("credentialBundlePath") or "",
        key_path=said.get("keyPath") or "",
        chain_path=said.get("certificateChainPath") or "",
    )


def request_object(
    pod: PodSpec, wanted: CertificateRequest, identity: PodIdentity, signing_request: bytes
) -> JsonObject:
    """The PodCertificateRequest. It goes when the pod does."""
    owner = {"apiVersion": "v1", "kind": "Pod", "name": pod.name, "uid": pod.uid}
    spec = {
        "signerName": wanted.signer,
        "podName": pod.name,
        "podUID": pod.uid,
        "serviceAccountName": account_of(pod),
        "serviceAccountUID": identity.account_uid,
        "nodeName": str(pod.spec.get("nodeName") or ""),
        "nodeUID": identity.node_uid,
        "maxExpirationSeconds": wanted.expires_s,
        "stubPKCS10Request": base64.b64encode(signing_request).decode(),
    }
    if wanted.annotations:
        spec["unverifiedUserAnnotations"] = dict(wanted.annotations)
    return {
        "apiVersion": "certificates.k8s.io/v1",
        "kind": "PodCertificateRequest",
        "metadata": {
            "generateName": "req-",
            "namespace": pod.namespace,
            "ownerReferences": [owner],
        },
        "spec": spec,
    }


def account_of(pod: PodSpec) -> str:
    return str(pod.spec.get("serviceAccountName") or "default")


def credential_files(wanted: CertificateRequest, found: KeyPair) -> dict[str, bytes]:
    """By path; a key comes first in the file of both. With the certificate is the chain to its
    authority."""
    files = {
        wanted.bundle_path: found.key + found.certificate,
        wanted.key_path: found.key,
        wanted.chain_path: found.certificate,
    }
    return {path: content for path, content in files.items() if path}
