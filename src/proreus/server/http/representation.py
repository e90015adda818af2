"""How an answer is rendered: the view a request negotiated, and its encoding.

Views are made once per resource and choice, so that all watchers of one view share their frames,
and all who ask for it its encodings.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, assert_never

from proreus.aio.clock import Clock
from proreus.api import field_error
from proreus.api.status import BadRequest
from proreus.api.wire import json
from proreus.api.wire.query import first
from proreus.lazy_dataclass import dataclass
from proreus.server.http.exchange import Exchange
from proreus.server.http.negotiation import (
    PLAIN,
    PLAINLY_JSON,
    Choice,
    Form,
    Media,
    Offer,
    negotiate,
    stream_media,
)
from proreus.server.resource import Resource
from proreus.server.resource.conversion import Convert
from proreus.server.views import (
    CborTableView,
    CborView,
    ConvertedView,
    IncludeObject,
    JsonView,
    MetadataView,
    ObjectView,
    ProtobufView,
    RememberedEncodings,
    ResponseView,
    TableView,
    indented,
    to_cbor,
    to_protobuf,
    to_yaml,
)
from proreus.server.watch_cache.view import EncodingView

_VIEWS_MAX = 2000
_TRUE = frozenset({"1", "t", "T", "TRUE", "true", "True"})
_PRETTY_AGENTS = ("curl", "Wget", "Mozilla/5.0")
_CUSTOM = Offer(is_custom=True)
_BUILT_IN = Offer()
_WITHOUT_TABLE = Offer(has_table=False)


@dataclass(frozen=True, slots=True)
class Representation:
    """One negotiated view and encoding of one resource."""

    choice: Choice
    view: ResponseView
    refusal: BadRequest | None = None  # raised only once there is something to render
    # The view's objects in protobuf or CBOR; None in other formats, and of tables.
    remembered: ProtobufView | CborView | None = None

    @property
    def content_type(self) -> str:
        return self.choice.media.value

    @property
    def frames(self) -> EncodingView:
        """How the events of a watch are written; equal ones share their bytes."""
        media = stream_media(self.choice)
        if self.remembered is not None:
            return self.remembered
        return self.view if media is Media.JSON else CborTableView(self.view)


class Representations:
    def __init__(self, clock: Clock, convert: Convert) -> None:
        self._clock = clock
        self._convert = convert
        self._encodings = RememberedEncodings()
        self._plain: dict[Resource, Representation] = {}
        self._others: dict[tuple[Resource, Choice, IncludeObject], Representation] = {}

    def negotiate(self, exchange: Exchange, resource: Resource) -> Representation:
        """Raises NotAcceptable."""
        choice = choose(exchange, _CUSTOM if resource.custom else _BUILT_IN)
        if choice is PLAIN:
            return self._plain.get(resource) or self.plain(resource)
        include = _included(exchange, choice)
        if isinstance(include, BadRequest):
            return Representation(choice, self._whole(resource), include)
        key = (resource, choice, include)
        found = self._others.get(key)
        if found is None:
            if len(self._others) >= _VIEWS_MAX:
                self._others.clear()
            found = self._others[key] = self._made(resource, choice, include)
        return found

    def _made(self, resource: Resource, choice: Choice, include: IncludeObject) -> Representation:
        view = self._view(resource, choice, include)
        if isinstance(view, TableView):
            return Representation(choice, view)
        remembered: ProtobufView | CborView | None = None
        match choice.media:
            case Media.PROTOBUF:
                remembered = ProtobufView(view, self._encodings)
            case Media.CBOR:
                remembered = CborView(view, self._encodings)
            case Media.JSON | Media.YAML:
                pass
            case _:
                assert_never(choice.media)
        return Representation(choice, view, remembered=remembered)

    def plain(self, resource: Resource) -> Representation:
        found = self._plain.get(resource)
        if found is None:
            view = self._whole(resource)
            found = self._plain[resource] = Representation(PLAIN, view)
        return found

    def review(self, exchange: Exchange, resource: Resource) -> Representation:
        """What is not stored has no columns."""
        choice = choose(exchange, _WITHOUT_TABLE)
        return Representation(choice, self._view(resource, choice, IncludeObject.METADATA))

    def scale(self, exchange: Exchange, resource: Resource) -> Representation:
        """A Scale, which is no object of the resource but stands for one."""
        scale = resource.subresource("scale")
        assert scale is not None, "found by the router"
        choice = choose(exchange, _CUSTOM if resource.custom else _BUILT_IN)
        if choice.form is not Form.TABLE:
            return Representation(choice, self._view(resource, choice, IncludeObject.METADATA))
        include = _included(exchange, choice)
        if isinstance(include, BadRequest):
            raise include
        view = TableView(
            scale.printer,
            self._whole(resource),
            self._clock,
            include=include,
            version=choice.version,
        )
        return Representation(choice, view)

    def forget(self, resource: Resource) -> None:
        """The resource is served no more."""
        self._plain.pop(resource, None)
        for key in [key for key in self._others if key[0] is resource]:
            del self._others[key]

    def _view(
        self, resource: Resource, choice: Choice, include: IncludeObject
    ) -> ObjectView | TableView:
        match choice.form:
            case Form.TABLE:
                whole = self._whole(resource)
                return TableView(
                    resource.printer, whole, self._clock, include=include, version=choice.version
                )
            case Form.METADATA | Form.METADATA_LIST:
                return MetadataView(choice.version)
            case Form.WHOLE:
                return self._whole(resource)
            case _:
                assert_never(choice.form)

    def _whole(self, resource: Resource) -> JsonView | ConvertedView:
        view = JsonView(resource)
        if resource.versions is not None:
            return view  # what comes here is converted already
        if resource.stored_gvk == resource.gvk and not resource.refresh_before:
            return view
        return ConvertedView(resource, view, self._convert)


def choose(exchange: Exchange, offer: Offer = _BUILT_IN) -> Choice:
    """What the request wants to see."""
    accept = exchange.headers.get("Accept", "")
    choice = PLAIN if accept in PLAINLY_JSON else negotiate(accept, offer)
    if choice.pretty or not is_pretty(exchange):
        return choice
    return Choice(choice.media, choice.form, choice.version, pretty=True)


def is_pretty(exchange: Exchange) -> bool:
    """Indented for people: requested, or the client is one that people use by hand."""
    if "pretty" in exchange.request.raw_query and (asked := first(exchange.query, "pretty")):
        return asked in _TRUE
    return exchange.headers.get("User-Agent", "").startswith(_PRETTY_AGENTS)


def encoded(choice: Choice, body: bytes) -> bytes:
    match choice.media:
        case Media.JSON:
            return indented(body) if choice.pretty else body
        case Media.YAML:
            return to_yaml(body)
        case Media.PROTOBUF:
            return to_protobuf(body)
        case Media.CBOR:
            return to_cbor(body)
        case _:
            assert_never(choice.media)


def encode_document(choice: Choice, value: Mapping[str, Any]) -> bytes:
    """A decoded object that is no resource: a Status."""
    return encoded(choice, json.encode(value) + b"\n")


def _included(exchange: Exchange, choice: Choice) -> IncludeObject | BadRequest:
    """What the rows of a table carry of their objects, or why the query is wrong."""
    text = first(exchange.query, "includeObject") if choice.form is Form.TABLE else ""
    if not text:
        return IncludeObject.METADATA
    try:
        return IncludeObject(text)
    except ValueError:
        wrong = field_error.invalid(
            "includeObject", text, "must be 'Metadata', 'Object', 'None', or empty"
        )
        return BadRequest(f"Unable to convert to Table as requested: {wrong}")
