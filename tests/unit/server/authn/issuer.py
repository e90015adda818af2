"""An issuer of users' tokens: real keys, real HTTPS."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa

from proreus.api.wire import json
from proreus.server.authn.jwt.compact import encoded
from proreus.server.authn.jwt.keys import key_id, public_jwk
from proreus.server.authn.jwt.signatures import PrivateKey, sign
from tests.https_server import HttpsServer

KEYS, WELL_KNOWN = "/keys", "/.well-known/openid-configuration"
RSA_KEY = rsa.generate_private_key(65537, 2048)


class TestIssuer(HttpsServer):
    __test__ = False

    def __init__(self) -> None:
        super().__init__()
        self.keys: list[PrivateKey] = [RSA_KEY]

    def publish(self) -> None:
        """Its configuration, and the keys it has now."""
        configuration = {"issuer": self.url, "jwks_uri": f"{self.url}{KEYS}"}
        self.pages[WELL_KNOWN] = json.encode(configuration)
        self.pages[KEYS] = json.encode(
            {"keys": [public_jwk(key.public_key()) for key in self.keys]}
        )

    def token(self, algorithm: str = "RS256", key: PrivateKey | None = None, **claims: Any) -> str:
        """With ``None`` for a claim that should be missing."""
        return signed(
            {"iss": self.url, "aud": "proreus", "sub": "jane", "exp": 4_000_000_000, **claims},
            key or self.keys[0],
            algorithm,
        )


def signed(claims: dict[str, Any], key: PrivateKey, algorithm: str) -> str:
    present = {name: value for name, value in claims.items() if value is not None}
    header = {"alg": algorithm, "kid": key_id(key.public_key())}
    text = f"{encoded(json.encode(header))}.{encoded(json.encode(present))}"
    return f"{text}.{encoded(signature(key, text.encode(), algorithm))}"


def signature(key: PrivateKey, message: bytes, algorithm: str) -> bytes:
    if isinstance(key, ec.EllipticCurvePrivateKey):
        return sign(key, message)
    used = {"256": hashes.SHA256(), "384": hashes.SHA384(), "512": hashes.SHA512()}[algorithm[2:]]
    if algorithm.startswith("PS"):
        return key.sign(message, padding.PSS(padding.MGF1(used), used.digest_size), used)
    return key.sign(message, padding.PKCS1v15(), used)


@pytest.fixture
async def issuer() -> AsyncIterator[TestIssuer]:
    async with TestIssuer().running() as running:
        assert isinstance(running, TestIssuer)
        running.publish()
        yield running
