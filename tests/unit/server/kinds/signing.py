"""Signing requests and certificates for tests, as PEM texts."""

from __future__ import annotations

import datetime
from base64 import b64encode
from functools import cache

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

_NAME = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "a")])
_DAY = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)


def pem(kind: str, content: bytes, headers: str = "") -> bytes:
    body = b64encode(content).decode()
    return f"-----BEGIN {kind}-----\n{headers}{body}\n-----END {kind}-----\n".encode()


@cache
def signing_request() -> bytes:
    key = ec.generate_private_key(ec.SECP256R1())
    made = x509.CertificateSigningRequestBuilder().subject_name(_NAME).sign(key, hashes.SHA256())
    return made.public_bytes(serialization.Encoding.PEM)


def certificate(*, of_authority: bool) -> bytes:
    key = ec.generate_private_key(ec.SECP256R1())
    builder = (
        x509.CertificateBuilder()
        .subject_name(_NAME)
        .issuer_name(_NAME)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(_DAY)
        .not_valid_after(_DAY + datetime.timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=of_authority, path_length=None), critical=True)
    )
    return builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
