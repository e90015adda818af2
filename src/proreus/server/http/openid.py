"""What others need to check our tokens: who issues them, by which keys (OpenID Connect)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from proreus.api.status import MethodNotAllowed
from proreus.api.wire import json
from proreus.net.http_request import Answer, Response
from proreus.server.authn.service_accounts import ALGORITHM, ISSUER, ServiceAccountTokens
from proreus.server.http.exchange import Exchange

_CONFIGURATION = "/.well-known/openid-configuration"
_KEYS = "/openid/v1/jwks"
OPENID_PATHS = (_CONFIGURATION, _KEYS)
_AN_HOUR = ("Cache-Control", "public, max-age=3600")


@dataclass(frozen=True, slots=True)
class OpenId:
    """``address`` is what clients reach us by, as ``host:port``."""

    tokens: ServiceAccountTokens
    address: Callable[[], str]

    def answer(self, exchange: Exchange) -> Answer | None:
        """None if there is nothing of this path. Raises MethodNotAllowed."""
        path = exchange.path.rstrip("/")
        if path not in (_CONFIGURATION, _KEYS):
            return None
        if exchange.method != "GET":
            raise MethodNotAllowed.default()
        if path == _KEYS:
            return _cached(exchange, "application/jwk-set+json", {"keys": [self.tokens.jwk()]})
        return _cached(exchange, "application/json", self._configuration())

    def _configuration(self) -> dict[str, object]:
        return {
            "issuer": ISSUER,
            "jwks_uri": f"https://{self.address()}{_KEYS}",
            "response_types_supported": ["id_token"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": [ALGORITHM],
        }


def _cached(exchange: Exchange, kind: str, document: dict[str, object]) -> Answer:
    head = exchange.head(content=("Content-Type", kind), cache=_AN_HOUR)
    return Response(200, head, json.encode(document))
