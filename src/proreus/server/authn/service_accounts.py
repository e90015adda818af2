"""Tokens of service accounts: signed here, checked against the account that they name.

A token is a JSON Web Token (ES256). It is good while it has not expired and its account is still
the one it was made for: deleting the account ends all its tokens at once.
"""

from __future__ import annotations

import base64
import binascii
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from proreus.aio.clock import Clock
from proreus.api.wire import json
from proreus.net.tls import write_private
from proreus.server.registry.collection import Collection
from proreus.server.registry.user import AUTHENTICATED, CREDENTIAL_ID, User

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

ISSUER = "https://kubernetes.default.svc"
ALGORITHM = "ES256"
_HALF = 32  # bytes of each of the two numbers of a signature
_CLAIM = "kubernetes.io"


@dataclass(frozen=True, slots=True)
class Account:
    namespace: str
    name: str
    uid: str

    @property
    def user_name(self) -> str:
        return f"system:serviceaccount:{self.namespace}:{self.name}"

    @property
    def groups(self) -> tuple[str, ...]:
        return (
            "system:serviceaccounts",
            f"system:serviceaccounts:{self.namespace}",
            AUTHENTICATED,
        )


class ServiceAccountTokens:
    """``key_file`` None: the key lives as long as the server."""

    def __init__(self, accounts: Collection, clock: Clock, key_file: Path | None) -> None:
        self._accounts = accounts
        self._clock = clock
        self._key_file = key_file
        self._key: EllipticCurvePrivateKey | None = None

    def issue(
        self,
        account: Account,
        *,
        audiences: Sequence[str],
        expires_s: float,
        bound: Mapping[str, Any] | None = None,
    ) -> str:
        now = int(self._clock.now())
        about: dict[str, Any] = {
            "namespace": account.namespace,
            "serviceaccount": {"name": account.name, "uid": account.uid},
        }
        if bound:
            kind = str(bound.get("kind", "")).lower()
            about[kind] = {"name": bound.get("name", ""), "uid": bound.get("uid", "")}
        claims = {
            "iss": ISSUER,
            "sub": account.user_name,
            "aud": list(audiences),
            "iat": now,
            "nbf": now,
            "exp": int(expires_s),
            "jti": str(uuid.uuid4()),
            _CLAIM: about,
        }
        header = {"alg": ALGORITHM, "kid": self.jwk()["kid"]}
        signed = f"{_encoded(json.encode(header))}.{_encoded(json.encode(claims))}"
        return f"{signed}.{_encoded(self._sign(signed.encode()))}"

    def jwk(self) -> dict[str, str]:
        """The public key as a JSON Web Key, known by the digest of its other form."""
        from cryptography.hazmat.primitives import serialization

        key = self._own_key().public_key()
        numbers = key.public_numbers()
        packed = key.public_bytes(
            serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        return {
            "use": "sig",
            "kty": "EC",
            "kid": _encoded(sha256(packed).digest()),
            "crv": "P-256",
            "alg": ALGORITHM,
            "x": _encoded(numbers.x.to_bytes(_HALF, "big")),
            "y": _encoded(numbers.y.to_bytes(_HALF, "big")),
        }

    async def check(self, token: str) -> User | None:
        """None for what is no token of ours, or of an account that is gone."""
        claims = self._claims(token)
        if claims is None:
            return None
        account = _account(claims)
        if account is None or not self._is_in_time(claims):
            return None
        key = f"{account.namespace}/{account.name}"
        stored = await self._accounts.store.get(key)
        if stored is None or json.decode(stored.value)["metadata"].get("uid") != account.uid:
            return None
        extra = {CREDENTIAL_ID: (f"JTI={claims.get('jti', '')}",)}
        return User(account.user_name, account.groups, account.uid, extra)

    def _is_in_time(self, claims: Mapping[str, Any]) -> bool:
        now, begins, ends = self._clock.now(), claims.get("nbf"), claims.get("exp")
        in_time = isinstance(begins, int) and isinstance(ends, int) and begins - 5 <= now < ends
        return in_time and ISSUER in (claims.get("aud") or ())

    def _claims(self, token: str) -> dict[str, Any] | None:
        parts = token.split(".")
        if len(parts) != 3:
            return None
        try:
            if json.decode(_decoded(parts[0])).get("alg") != ALGORITHM:
                return None
            claims = json.decode(_decoded(parts[1]))
            signature = _decoded(parts[2])
        except (ValueError, AttributeError):
            return None
        ours = isinstance(claims, dict) and claims.get("iss") == ISSUER
        if not ours or not self._is_signed(f"{parts[0]}.{parts[1]}".encode(), signature):
            return None
        found: dict[str, Any] = claims
        return found

    def _sign(self, message: bytes) -> bytes:
        from cryptography.hazmat.primitives.asymmetric import ec, utils
        from cryptography.hazmat.primitives.hashes import SHA256

        r, s = utils.decode_dss_signature(self._own_key().sign(message, ec.ECDSA(SHA256())))
        return r.to_bytes(_HALF, "big") + s.to_bytes(_HALF, "big")

    def _is_signed(self, message: bytes, signature: bytes) -> bool:
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric import ec, utils
        from cryptography.hazmat.primitives.hashes import SHA256

        if len(signature) != 2 * _HALF:
            return False
        packed = utils.encode_dss_signature(
            int.from_bytes(signature[:_HALF], "big"), int.from_bytes(signature[_HALF:], "big")
        )
        try:
            self._own_key().public_key().verify(packed, message, ec.ECDSA(SHA256()))
        except InvalidSignature:
            return False
        return True

    def _own_key(self) -> EllipticCurvePrivateKey:
        if self._key is None:
            self._key = _load_or_make(self._key_file)
        return self._key


def _load_or_make(path: Path | None) -> EllipticCurvePrivateKey:
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    if path is not None and path.exists():
        found = serialization.load_pem_private_key(path.read_bytes(), None)
        assert isinstance(found, ec.EllipticCurvePrivateKey), "we only write such keys"
        return found
    key = ec.generate_private_key(ec.SECP256R1())
    if path is not None:
        text = key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        write_private(path, text)
    return key


def _account(claims: Mapping[str, Any]) -> Account | None:
    about = claims.get(_CLAIM)
    if not isinstance(about, dict) or not isinstance(about.get("serviceaccount"), dict):
        return None
    account = about["serviceaccount"]
    parts = (about.get("namespace"), account.get("name"), account.get("uid"))
    if not all(isinstance(part, str) and part and "/" not in part for part in parts):
        return None
    return Account(str(parts[0]), str(parts[1]), str(parts[2]))


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _decoded(text: str) -> bytes:
    try:
        return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except binascii.Error as error:
        raise ValueError(str(error)) from error
