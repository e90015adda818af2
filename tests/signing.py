"""Signing requests as kubelets, people and kubectl make them."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from functools import cache
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

REQUESTS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"


@cache
def key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


def private_key() -> bytes:
    return key().private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


def request_pem(
    common_name: str, organizations: Iterable[str] = (), names: Iterable[x509.GeneralName] = ()
) -> bytes:
    parts = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, o) for o in organizations]
    if common_name:
        parts.append(x509.NameAttribute(NameOID.COMMON_NAME, common_name))
    builder = x509.CertificateSigningRequestBuilder().subject_name(x509.Name(parts))
    if names := list(names):
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    return builder.sign(key(), hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


def signing_request(
    name: str,
    pem: bytes,
    signer: str,
    usages: Iterable[str] = ("digital signature", "client auth"),
    **spec: Any,
) -> dict[str, Any]:
    return {
        "apiVersion": "certificates.k8s.io/v1",
        "kind": "CertificateSigningRequest",
        "metadata": {"name": name},
        "spec": {
            "request": base64.b64encode(pem).decode(),
            "signerName": signer,
            "usages": list(usages),
            **spec,
        },
    }
