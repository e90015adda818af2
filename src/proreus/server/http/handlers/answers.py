"""Objects and documents as HTTP answers, in the look the request negotiated."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Mapping
from typing import Any

from proreus.api.status import NotAcceptable, PlainError
from proreus.net.http_request import Pieces, Response
from proreus.server.http.exchange import Exchange, Header
from proreus.server.http.negotiation import PLAIN
from proreus.server.http.representation import Representation, choose, encode_document
from proreus.server.registry.resource import Resource
from proreus.server.watch_cache.object import CachedObject

_GZIP_BYTES_MIN = 128 * 1024
_GZIP_LEVEL = 1
_GZIP_FORMAT = 31  # zlib's word for "with a gzip header"


def object_answer(
    exchange: Exchange, shown: Representation, obj: CachedObject, status: int = 200
) -> Response:
    body = shown.view.object(obj)
    if shown.choice is PLAIN:
        return exchange.json(status, body)
    return _answer(exchange, shown, status, body)


def document_answer(
    exchange: Exchange, shown: Representation, value: Mapping[str, Any], status: int = 200
) -> Response:
    """A decoded object of the resource, or one that stands for it (Scale, Eviction)."""
    return _answer(exchange, shown, status, shown.view.document(value))


def status_answer(exchange: Exchange, value: Mapping[str, Any], status: int = 200) -> Response:
    """A Status is never shown as a table or as metadata."""
    choice = choose(exchange)
    content = ("Content-Type", choice.media.value)
    return Response(status, exchange.head(content=content), encode_document(choice, value))


def list_answer(exchange: Exchange, shown: Representation, body: bytes) -> Response:
    return _answer(exchange, shown, 200, body)


def refuse_form(shown: Representation, resource: Resource, *, is_list: bool) -> None:
    """PartialObjectMetadata is for one object, …List for many.

    As in Kubernetes this is told when the work is done, so a write is made nevertheless.
    """
    if shown.refusal is not None:
        raise shown.refusal
    kind = shown.choice.kind
    if resource.custom and not is_list and kind == "PartialObjectMetadataList":
        raise PlainError("content is not a list")
    if resource.custom and is_list and kind == "PartialObjectMetadata":
        raise NotAcceptable(
            "you requested PartialObjectMetadata, but the requested object is a list "
            "(*unstructured.UnstructuredList)"
        )
    package = resource.stored_gvk.group.partition(".")[0] or "core"
    if is_list and kind == "PartialObjectMetadata":
        raise NotAcceptable(
            "you requested PartialObjectMetadata, but the requested object is a list "
            f"(*{package}.{resource.kind_of_list})"
        )
    if not is_list and kind == "PartialObjectMetadataList":
        raise NotAcceptable(
            "you requested PartialObjectMetadataList, but the requested object is not a list "
            f"(*{package}.{resource.kind})"
        )


def is_large(body: bytes | Pieces) -> bool:
    """Whether a body is worth shrinking; what is made while it is sent stays as it is."""
    return isinstance(body, bytes) and len(body) >= _GZIP_BYTES_MIN


async def compressed(exchange: Exchange, answer: Response) -> Response:
    """A large answer shrinks if the client asked; off the loop, since it takes a while."""
    if not isinstance(answer.body, bytes) or not wants_gzip(exchange):
        return answer
    body = await asyncio.to_thread(_gzip, answer.body)
    extra: tuple[Header, ...] = (("Content-Encoding", "gzip"), ("Vary", "Accept-Encoding"))
    return Response(answer.status, answer.headers + extra, body, answer.close)


def wants_gzip(exchange: Exchange) -> bool:
    accepted = exchange.headers.get("Accept-Encoding", "")
    return any(part.strip() == "gzip" for part in accepted.split(","))


def _gzip(body: bytes) -> bytes:
    packer = zlib.compressobj(_GZIP_LEVEL, zlib.DEFLATED, _GZIP_FORMAT)
    return packer.compress(body) + packer.flush()


def _answer(exchange: Exchange, shown: Representation, status: int, body: bytes) -> Response:
    content = ("Content-Type", shown.content_type)
    return Response(status, exchange.head(content=content), shown.encode(body))
