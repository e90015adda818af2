"""Signatures of tokens: the nine algorithms that Kubernetes accepts (RFC 7518).

A key fits to one family of them, and an elliptic curve to exactly one algorithm. What the header of
a token says is only ever compared with what the key can be used for.
"""

from __future__ import annotations

from typing import assert_never

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import padding, utils
from cryptography.hazmat.primitives.asymmetric.ec import (
    ECDSA,
    EllipticCurvePrivateKey,
    EllipticCurvePublicKey,
)
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, RSAPublicKey
from cryptography.hazmat.primitives.hashes import SHA256, SHA384, SHA512, HashAlgorithm

PublicKey = RSAPublicKey | EllipticCurvePublicKey
PrivateKey = RSAPrivateKey | EllipticCurvePrivateKey
_CURVES = {"secp256r1": "ES256", "secp384r1": "ES384", "secp521r1": "ES512"}
_RSA = frozenset({"RS256", "RS384", "RS512", "PS256", "PS384", "PS512"})


def own_algorithm(key: PrivateKey | PublicKey) -> str:
    """The one that our own tokens are signed with; "" if the key is of no use."""
    match key:
        case EllipticCurvePrivateKey() | EllipticCurvePublicKey():
            return _CURVES.get(key.curve.name, "")
        case RSAPrivateKey() | RSAPublicKey():
            return "RS256"
        case _:
            assert_never(key)


def is_signed(algorithm: str, key: PublicKey, message: bytes, signature: bytes) -> bool:
    try:
        match key:
            case EllipticCurvePublicKey():
                if algorithm != _CURVES.get(key.curve.name):
                    return False
                key.verify(_packed(key, signature), message, ECDSA(_hash(algorithm)))
            case RSAPublicKey():
                if algorithm not in _RSA:
                    return False
                key.verify(signature, message, _padding(algorithm), _hash(algorithm))
            case _:
                assert_never(key)
    except (InvalidSignature, ValueError):
        return False
    return True


def sign(key: PrivateKey, message: bytes) -> bytes:
    """By the key's own algorithm."""
    algorithm = own_algorithm(key)
    match key:
        case EllipticCurvePrivateKey():
            numbers = utils.decode_dss_signature(key.sign(message, ECDSA(_hash(algorithm))))
            size = _number_bytes(key)
            return b"".join(number.to_bytes(size, "big") for number in numbers)
        case RSAPrivateKey():
            return key.sign(message, padding.PKCS1v15(), _hash(algorithm))
        case _:
            assert_never(key)


def _packed(key: EllipticCurvePublicKey, signature: bytes) -> bytes:
    """Two numbers of equal length become their form in ASN.1. Raises ValueError."""
    size = _number_bytes(key)
    if len(signature) != 2 * size:
        raise ValueError("the signature has another length")
    return utils.encode_dss_signature(
        int.from_bytes(signature[:size], "big"), int.from_bytes(signature[size:], "big")
    )


def _number_bytes(key: EllipticCurvePublicKey | EllipticCurvePrivateKey) -> int:
    return (key.curve.key_size + 7) // 8


def _hash(algorithm: str) -> HashAlgorithm:
    hashes: dict[str, type[HashAlgorithm]] = {"256": SHA256, "384": SHA384, "512": SHA512}
    return hashes[algorithm[2:]]()


def _padding(algorithm: str) -> padding.AsymmetricPadding:
    if algorithm.startswith("RS"):
        return padding.PKCS1v15()
    used = _hash(algorithm)
    return padding.PSS(padding.MGF1(used), used.digest_size)
