"""A new key, and the PKCS #10 request that shows whoever sends it has it.

Importing this loads ``cryptography``.
"""

from __future__ import annotations

from collections.abc import Callable

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

from proreus.lazy_dataclass import dataclass

_Key = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey
_Digest = hashes.SHA256 | hashes.SHA384 | hashes.SHA512
_RSA_EXPONENT = 65537
_KINDS: dict[str, tuple[Callable[[], _Key], _Digest | None]] = {
    "RSA3072": (lambda: rsa.generate_private_key(_RSA_EXPONENT, 3072), hashes.SHA256()),
    "RSA4096": (lambda: rsa.generate_private_key(_RSA_EXPONENT, 4096), hashes.SHA256()),
    "ECDSAP256": (lambda: ec.generate_private_key(ec.SECP256R1()), hashes.SHA256()),
    "ECDSAP384": (lambda: ec.generate_private_key(ec.SECP384R1()), hashes.SHA384()),
    "ECDSAP521": (lambda: ec.generate_private_key(ec.SECP521R1()), hashes.SHA512()),
    "ED25519": (ed25519.Ed25519PrivateKey.generate, None),
}


@dataclass(frozen=True, slots=True, repr=False)
class KeyAndRequest:
    """``key`` is PEM, ``request`` DER."""

    key: bytes
    request: bytes


def new_key(key_type: str) -> KeyAndRequest:
    """Of a type that Kubernetes' pod certificates know; the request says nothing of its subject.

    Takes a while for long keys. Raises ValueError for a type that is not known.
    """
    if key_type not in _KINDS:
        raise ValueError(f"no such type of key: {key_type}")
    generate, digest = _KINDS[key_type]
    key = generate()
    request = x509.CertificateSigningRequestBuilder().subject_name(x509.Name([])).sign(key, digest)
    return KeyAndRequest(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        ),
        request.public_bytes(serialization.Encoding.DER),
    )
