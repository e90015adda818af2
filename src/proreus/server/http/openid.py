"""What others need to verify our tokens: issuer and public keys (OpenID Connect discovery)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from proreus.api.status import MethodNotAllowed
from proreus.api.wire import json
from proreus.lazy_dataclass import dataclass
from proreus.net.http1.messages import Answer, Response
from proreus.server.authn.service_accounts import ServiceAccountTokens
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

    async def answer(self, exchange: Exchange) -> Answer | None:
        """None if there is nothing of this path. Raises MethodNotAllowed."""
        path = exchange.path.rstrip("/")
        if path not in (_CONFIGURATION, _KEYS):
            return None
        if exchange.method != "GET":
            raise MethodNotAllowed.default()
        keys = await self.tokens.jwks()
        if path == _KEYS:
            return _cached(exchange, "application/jwk-set+json", {"keys": keys})
        return _cached(exchange, "application/json", self._configuration(keys))

    def _configuration(self, keys: Sequence[Mapping[str, str]]) -> dict[str, object]:
        options = self.tokens.options
        return {
            "issuer": options.issuers[0],
            "jwks_uri": options.jwks_uri or f"https://{self.address()}{_KEYS}",
            "response_types_supported": ["id_token"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": sorted({key["alg"] for key in keys}),
        }


def _cached(exchange: Exchange, kind: str, document: dict[str, object]) -> Answer:
    head = exchange.head(content=("Content-Type", kind), cache=_AN_HOUR)
    return Response(200, head, json.encode(document))
