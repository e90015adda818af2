"""OpenAPI documents over HTTP: hashes in the address, JSON or protobuf (server.md §1.4)."""

from __future__ import annotations

from email.utils import formatdate
from typing import TYPE_CHECKING

from proreus.aio.clock import Clock
from proreus.api.wire.query import first
from proreus.lazy_dataclass import dataclass
from proreus.net.http1.messages import Answer, Response
from proreus.server.aggregation.remotes import Remotes
from proreus.server.http.exchange import Exchange
from proreus.server.http.negotiation import accepted_type
from proreus.server.offload import Lane
from proreus.server.registry.catalog import Catalog

if TYPE_CHECKING:
    from proreus.server.discovery.openapi.schemas import SchemaSource
    from proreus.server.discovery.openapi_v2 import OpenApiV2
    from proreus.server.discovery.openapi_v3 import OpenApiV3

_V3 = "application/com.github.proto-openapi.spec.v3.v1.0+protobuf"
_V2 = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
_OLD_SPELLING = "@v1.0"
_JSON = "application/json"
_YEAR_S = 365 * 86400
_PLAIN = ("Content-Type", "text/plain; charset=utf-8")
_IMMUTABLE = ("Cache-Control", "public, immutable")


@dataclass(slots=True)
class OpenApi:
    """The documents are built, off the loop, when first asked for."""

    catalog: Catalog
    clock: Clock
    schemas: SchemaSource
    lane: Lane
    remotes: Remotes
    _v2: OpenApiV2 | None = None
    _v3: OpenApiV3 | None = None

    async def answer(self, exchange: Exchange) -> Answer | None:
        """None if there is nothing of this path."""
        path = exchange.path
        if path == "/openapi/v2":
            return await self._second(exchange)
        if path == "/openapi/v3":
            body = (await self.lane.run(lambda: self._third().index())).body
            return Response(200, exchange.head(content=_PLAIN), body)
        if path.startswith("/openapi/v3/"):
            return await self._document(exchange, path.removeprefix("/openapi/v3/"))
        return None

    async def _second(self, exchange: Exchange) -> Answer:
        vary = ("Vary", "Accept-Encoding, Accept")
        kind = accepted_type(
            exchange.headers.get("Accept", ""), (_JSON, _V2, _V2.replace(".v1.0", _OLD_SPELLING))
        )
        if kind is None:
            return Response(406, (*exchange.head()[:2], vary), b"")
        remote = await self.remotes.openapi_specs() if self.remotes else ()
        if kind == _JSON:
            body = (await self.lane.run(lambda: self._as_v2().document(remote))).body
        else:
            body, kind = await self.lane.run(lambda: self._as_v2().protobuf(remote)), _V2
        return Response(200, exchange.head(vary, content=("Content-Type", kind)), body)

    async def _document(self, exchange: Exchange, key: str) -> Answer:
        wanted = await self.lane.run(lambda: self._third().hash_of(key))
        if wanted is None:
            head = exchange.head()
            return Response(404, tuple(h for h in head if h[0] != "Content-Type"), b"")
        vary = ("Vary", "Accept")
        asked = first(exchange.query, "hash")
        if asked and asked != wanted:
            location = ("Location", f"/openapi/v3/{key}?hash={wanted}")
            return Response(301, exchange.head(location, content=_PLAIN), b"")
        kind = accepted_type(
            exchange.headers.get("Accept", ""), (_JSON, _V3, _V3.replace(".v1.0", _OLD_SPELLING))
        )
        if kind is None:
            return Response(406, exchange.head(content=_PLAIN), b"")
        if kind == _JSON:
            document = await self.lane.run(lambda: self._third().document(key))
            assert document is not None, "what has a hash has a document"
            body = document.body
        else:
            packed = await self.lane.run(lambda: self._third().protobuf(key))
            assert packed is not None, "what has a hash has a document"
            body, kind = packed, _V3
        tag = ("Etag", f'"{wanted}"')
        content = ("Content-Type", kind)
        if exchange.headers.get("If-None-Match") == tag[1]:
            return Response(304, exchange.head(vary, tag, content=content), b"")
        if asked:
            expires = ("Expires", formatdate(self.clock.now() + _YEAR_S, usegmt=True))
            head = exchange.head(vary, tag, expires, content=content, cache=_IMMUTABLE)
            return Response(200, head, body)
        return Response(200, exchange.head(vary, tag, content=content), body)

    def _third(self) -> OpenApiV3:
        if self._v3 is None:
            from proreus.server.discovery.openapi_v3 import OpenApiV3

            self._v3 = OpenApiV3(self.catalog, self.schemas, self.remotes.table)
        return self._v3

    def _as_v2(self) -> OpenApiV2:
        if self._v2 is None:
            from proreus.server.discovery.openapi_v2 import OpenApiV2

            self._v2 = OpenApiV2(self.catalog, self.schemas, self.remotes.table)
        return self._v2
