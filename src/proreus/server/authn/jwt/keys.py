"""Keys that tokens are verified with: as JSON Web Keys (RFC 7517), and in PEM files."""

from __future__ import annotations

import re
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_pem_private_key,
    load_pem_public_key,
)
from cryptography.x509 import load_pem_x509_certificate

from proreus.api.wire import json
from proreus.lazy_dataclass import dataclass
from proreus.server.authn.jwt.compact import decoded, encoded
from proreus.server.authn.jwt.signatures import PrivateKey, PublicKey, own_algorithm

_KEYS_MAX = 200
_RSA_BITS = range(1024, 16385)  # verifying with a larger one takes milliseconds
_CURVES: Mapping[str, type[ec.EllipticCurve]] = {
    "P-256": ec.SECP256R1, "P-384": ec.SECP384R1, "P-521": ec.SECP521R1,
}  # fmt: skip
_CURVE_NAMES = {"ES256": "P-256", "ES384": "P-384", "ES512": "P-521"}
_BLOCK = re.compile(rb"-----BEGIN ([A-Z0-9 ]+)-----.*?-----END \1-----", re.DOTALL)


@dataclass(frozen=True, slots=True)
class VerificationKey:
    key_id: str
    key: PublicKey


def key_id(key: PublicKey) -> str:
    """As Kubernetes names keys: by the digest of their packed form."""
    packed = key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return encoded(sha256(packed).digest())


def public_jwk(key: PublicKey) -> dict[str, str]:
    algorithm = own_algorithm(key)
    known = {"use": "sig", "kid": key_id(key), "alg": algorithm}
    if isinstance(key, rsa.RSAPublicKey):
        numbers = key.public_numbers()
        return {"kty": "RSA", **known, "n": _number(numbers.n), "e": _number(numbers.e)}
    point, size = key.public_numbers(), (key.curve.key_size + 7) // 8
    return {
        "kty": "EC",
        **known,
        "crv": _CURVE_NAMES[algorithm],
        "x": encoded(point.x.to_bytes(size, "big")),
        "y": encoded(point.y.to_bytes(size, "big")),
    }


def parse_jwks(text: bytes) -> tuple[VerificationKey, ...]:
    """The keys of a set that are for signatures and of a known kind. Raises ValueError."""
    document = json.decode(text)
    entries = document.get("keys") if isinstance(document, dict) else None
    if not isinstance(entries, list):
        raise ValueError("it has no list of keys")
    if len(entries) > _KEYS_MAX:
        raise ValueError(f"it has more than {_KEYS_MAX} keys")
    keys = (_parsed(entry) for entry in entries if isinstance(entry, dict))
    return tuple(key for key in keys if key is not None)


def parse_pem_keys(text: bytes) -> tuple[PublicKey, ...]:
    """Every public key, private key and certificate of a file. Raises ValueError."""
    keys = [_public(block[0], block[1]) for block in _BLOCK.finditer(text)]
    if not keys:
        raise ValueError("data does not contain any valid RSA or ECDSA public keys")
    return tuple(keys)


def parse_pem_private_key(text: bytes) -> PrivateKey:
    """Raises ValueError."""
    try:
        key = load_pem_private_key(text, None)
    except (ValueError, TypeError) as error:  # a TypeError if it is encrypted
        raise ValueError("it is not a private key in PEM") from error
    if not isinstance(key, rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey) or not own_algorithm(
        key
    ):
        raise ValueError("it is neither an RSA key nor an ECDSA key of P-256, P-384 or P-521")
    return key


def _public(block: bytes, kind: bytes) -> PublicKey:
    try:
        if kind.endswith(b"PRIVATE KEY"):
            return parse_pem_private_key(block).public_key()
        is_certificate = kind == b"CERTIFICATE"
        found = (
            load_pem_x509_certificate(block).public_key()
            if is_certificate
            else load_pem_public_key(block)
        )
    except ValueError as error:
        raise ValueError("it has a part that is no key in PEM") from error
    if not isinstance(found, rsa.RSAPublicKey | ec.EllipticCurvePublicKey):
        raise ValueError("it has a key that is neither RSA nor ECDSA")
    return found


def _parsed(entry: Mapping[str, Any]) -> VerificationKey | None:
    if entry.get("use", "sig") != "sig":
        return None
    try:
        key = _rsa(entry) if entry.get("kty") == "RSA" else _elliptic(entry)
    except (ValueError, TypeError, KeyError):
        return None  # one bad key must not take the others away
    found = entry.get("kid") or ""
    return VerificationKey(found, key) if key is not None and isinstance(found, str) else None


def _rsa(entry: Mapping[str, Any]) -> PublicKey | None:
    modulus, exponent = (int.from_bytes(decoded(entry[name]), "big") for name in ("n", "e"))
    if modulus.bit_length() not in _RSA_BITS or exponent.bit_length() > 64:
        return None
    return rsa.RSAPublicNumbers(exponent, modulus).public_key()


def _elliptic(entry: Mapping[str, Any]) -> PublicKey | None:
    if entry.get("kty") != "EC" or entry.get("crv") not in _CURVES:
        return None
    x, y = (int.from_bytes(decoded(entry[name]), "big") for name in ("x", "y"))
    return ec.EllipticCurvePublicNumbers(x, y, _CURVES[entry["crv"]]()).public_key()


def _number(value: int) -> str:
    return encoded(value.to_bytes((value.bit_length() + 7) // 8, "big"))
