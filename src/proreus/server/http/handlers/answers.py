"""Objects and documents as HTTP answers, in the representation the request negotiated."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from proreus.api.status import NotAcceptable, PlainError
from proreus.net.http1.messages import Chunks, Pieces, Response
from proreus.server.http.exchange import Exchange, Header
from proreus.server.http.negotiation import PLAIN, Form
from proreus.server.http.rendering import GZIP_BYTES_MIN
from proreus.server.http.representation import Representation, choose, encode_document
from proreus.server.http.services import Services
from proreus.server.resource import Resource
from proreus.server.views import ConvertedView, JsonView
from proreus.server.watch_cache.object import EncodedObject
from proreus.server.watch_cache.query import ListResult

# From here on a list of JSON is sent in pieces of known size; one join is cheaper for less.
_MANY = 100
GZIPPED: tuple[Header, ...] = (("Content-Encoding", "gzip"), ("Vary", "Accept-Encoding"))


async def object_answer(
    services: Services,
    exchange: Exchange,
    representation: Representation,
    obj: EncodedObject,
    status: int = 200,
) -> Response:
    body = representation.view.object(obj)
    if exchange.audit is not None:
        exchange.audit.set_response_object(body)
    if representation.choice is PLAIN:
        return Response(status, exchange.head(), body)
    if representation.remembered is None:
        return await _answer(services, exchange, representation, status, body)
    content = ("Content-Type", representation.content_type)
    text = await services.rendering.object(representation.remembered, obj)
    return Response(status, exchange.head(content=content), text)


async def document_answer(
    services: Services,
    exchange: Exchange,
    representation: Representation,
    value: Mapping[str, Any],
    status: int = 200,
) -> Response:
    """A decoded object of the resource, or one that stands for it (Scale, Eviction)."""
    body = representation.view.document(value)
    if exchange.audit is not None:
        exchange.audit.set_response_object(body)
    return await _answer(services, exchange, representation, status, body)


def status_answer(exchange: Exchange, value: Mapping[str, Any], status: int = 200) -> Response:
    """A Status is never rendered as a table or as metadata."""
    choice = choose(exchange)
    if exchange.audit is not None:
        exchange.audit.set_status_answer(value)
    content = ("Content-Type", choice.media.value)
    return Response(status, exchange.head(content=content), encode_document(choice, value))


async def list_answer(
    services: Services,
    exchange: Exchange,
    representation: Representation,
    listing: ListResult,
    token: str = "",
) -> Response:
    gzip, view = wants_gzip(exchange), representation.view
    if exchange.audit is not None and exchange.audit.wants_response:
        await services.rendering.record(exchange.audit, representation, listing, token)
    is_stored = isinstance(view, JsonView) or (
        isinstance(view, ConvertedView) and view.is_served_as_stored(listing)
    )
    if is_stored and representation.choice is PLAIN and not gzip and len(listing.objects) >= _MANY:
        assert isinstance(view, JsonView | ConvertedView), "these render objects as they are stored"
        stored_bytes = await services.rendering.stored_size(listing)
        size, pieces = view.listing_pieces(listing, stored_bytes, continue_token=token)
        return Response(200, exchange.head(), Pieces(size, pieces))
    body = await services.rendering.listing(representation, listing, token, gzip=gzip)
    content = ("Content-Type", representation.content_type)
    extra = GZIPPED if gzip and isinstance(body, Chunks) else ()
    return Response(200, exchange.head(content=content) + extra, body)


def refuse_form(representation: Representation, resource: Resource, *, is_list: bool) -> None:
    """PartialObjectMetadata is for one object, …List for many.

    As in Kubernetes this is checked after the work, so a write is made nevertheless.
    """
    if representation.refusal is not None:
        raise representation.refusal
    form = representation.choice.form
    if form is Form.WHOLE:
        return
    if resource.custom and not is_list and form is Form.METADATA_LIST:
        raise PlainError("content is not a list")
    if resource.custom and is_list and form is Form.METADATA:
        raise NotAcceptable(
            "you requested PartialObjectMetadata, but the requested object is a list "
            "(*unstructured.UnstructuredList)"
        )
    package = resource.stored_gvk.group.partition(".")[0] or "core"
    if is_list and form is Form.METADATA:
        raise NotAcceptable(
            "you requested PartialObjectMetadata, but the requested object is a list "
            f"(*{package}.{resource.names.list_kind})"
        )
    if not is_list and form is Form.METADATA_LIST:
        raise NotAcceptable(
            "you requested PartialObjectMetadataList, but the requested object is not a list "
            f"(*{package}.{resource.kind})"
        )


def is_large(body: bytes | Pieces | Chunks) -> bool:
    """Whether a body is worth compressing; what is made while it is sent stays as it is."""
    return isinstance(body, bytes) and len(body) >= GZIP_BYTES_MIN


async def compressed(services: Services, exchange: Exchange, answer: Response) -> Response:
    """A large answer is compressed if the client accepts that, in a thread."""
    if not isinstance(answer.body, bytes) or not wants_gzip(exchange):
        return answer
    body = await services.rendering.compressed(answer.body)
    return Response(answer.status, answer.headers + GZIPPED, body, answer.close)


def wants_gzip(exchange: Exchange) -> bool:
    accepted = exchange.headers.get("Accept-Encoding", "")
    return any(part.strip() == "gzip" for part in accepted.split(","))


async def _answer(
    services: Services, exchange: Exchange, representation: Representation, status: int, body: bytes
) -> Response:
    content = ("Content-Type", representation.content_type)
    text = await services.rendering.document(representation.choice, body)
    return Response(status, exchange.head(content=content), text)
