"""Request bodies: bytes → a decoded object of the endpoint's kind (server.md §6.1, §12).

JSON, YAML or protobuf by Content-Type; checked against the kind's type; unknown and duplicate
fields refused, warned about or ignored as the request asks. Long bodies are decoded in a thread.
Cost of a pod of 2 kB: 16 µs, of which 8 are for the JSON.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from proreus.api import field_error
from proreus.api.group_version import GroupVersionKind
from proreus.api.json_types import JsonObject
from proreus.api.status import BadRequest, TooLarge, UnsupportedMediaType
from proreus.api.typed import TypeNode
from proreus.api.wire.json_reader import holds_too_deep
from proreus.api.wire.strict_faults import strict_faults
from proreus.net.http1.messages import BodyTooLarge, BodyUnreadable
from proreus.server.http.body_syntax import Parsed, UnreadableBody, is_long, parse
from proreus.server.http.exchange import Exchange
from proreus.server.http.negotiation import (
    SERVED,
    BodyMedia,
    Media,
    has_readable_parameters,
    media_type,
)
from proreus.server.offload import INLINE, Lane, Runner
from proreus.server.registry.declared_types import (
    PARSE_ERROR,
    UnreadableType,
    declared_type,
    decoded_type,
    missing_kind,
    null_version,
)
from proreus.server.registry.kinds import KnownKinds, not_convertible, not_registered
from proreus.server.schema.check import DecodeError, check

BODY_BYTES_MAX = 3 * 1024 * 1024
_SHOWN_BYTES = 30
_JSON = Media.JSON.value
_BY_NAME = {media.value: media for media in SERVED}
# A place in Kubernetes' sources that its clients see in messages.
_OPTIONS_SCHEME = "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme/register.go:27"
_DELETE_OPTIONS = GroupVersionKind("", "v1", "DeleteOptions")
_UNNAMED_OPTIONS = GroupVersionKind("meta.k8s.io", "v1", "DeleteOptions")  # that say no version
# Kinds that are known in every version where options are decoded.
_UNVERSIONED_META = frozenset(
    {"APIGroup", "APIGroupList", "APIResourceList", "APIVersions", "Status"}
) | {"CreateOptions", "UpdateOptions"}


class Body(NamedTuple):
    """A body that has arrived, its syntax, and where work on something of its size is done."""

    text: bytes
    media: BodyMedia
    runner: Runner


class Decoded(NamedTuple):
    """The object of a body, and what decodes it once more, for who has changed it."""

    obj: JsonObject
    again: Callable[[], JsonObject]


async def read_body(exchange: Exchange) -> bytes:
    """A client that sends slowly holds up no other: until the body has arrived the request has
    no seat, and what has arrived counts for its user. Raises TooLarge, BadRequest, TooBusy."""
    request, seat = exchange.request, exchange.seat
    try:
        if request.has_arrived:
            text = await request.read_body(BODY_BYTES_MAX)
        else:
            async with seat.given_back():
                text = await request.read_body(BODY_BYTES_MAX, seat.keep)
    except BodyTooLarge as error:
        raise TooLarge(f"Request entity too large: limit is {BODY_BYTES_MAX}") from error
    except BodyUnreadable as error:
        raise BadRequest(f"the body of the request could not be read: {error}") from error
    exchange.body_bytes = len(text)
    return text


def input_media(exchange: Exchange) -> BodyMedia:
    """Raises UnsupportedMediaType."""
    header = exchange.headers.get("Content-Type", "")
    if not header or header == _JSON:
        return Media.JSON
    media = _BY_NAME.get(media_type(header).lower())
    if media is None or not has_readable_parameters(header):
        raise UnsupportedMediaType(
            "the body of the request was in an unknown format - accepted media types include: "
            f"{', '.join(SERVED)}"
        )
    return media


class ObjectDecoder:
    """Decodes bodies into the kinds the server knows."""

    def __init__(self, kinds: KnownKinds, lane: Lane) -> None:
        self._kinds = kinds
        self._lane = lane

    async def read(self, exchange: Exchange) -> Body:
        """Raises UnsupportedMediaType, and what ``read_body`` raises."""
        media = input_media(exchange)
        return self.body(await read_body(exchange), media)

    def body(self, text: bytes, media: BodyMedia) -> Body:
        return Body(text, media, self._lane if is_long(text, media) else INLINE)

    async def decode(
        self,
        exchange: Exchange,
        body: Body,
        expected: GroupVersionKind,
        validation: str,
        past_kind: GroupVersionKind | None = None,
    ) -> Decoded:
        """``validation``: Strict, Warn or "" (warn), Ignore. ``past_kind`` is accepted as well.

        Raises BadRequest.
        """
        again = partial(self._decode, exchange, body, expected, validation, past_kind)
        obj = await body.runner.run(again)
        if exchange.audit is not None:
            exchange.audit.set_request_object(obj)
        return Decoded(obj, again)

    def _decode(
        self,
        exchange: Exchange,
        body: Body,
        expected: GroupVersionKind,
        validation: str,
        past_kind: GroupVersionKind | None,
    ) -> JsonObject:
        text = body.text
        node = self._kinds.node(expected)
        is_custom = node is not None and node.decode is not None
        try:
            parsed = parse(text, body.media)
            value = {} if parsed.value is None else parsed.value
            declared = declared_type(value) if is_custom else decoded_type(value)
        except (UnreadableBody, UnreadableType) as error:
            raise _unrecognized(expected.kind, text, str(error)) from error
        gvk = declared.completed(expected)
        if not is_custom:
            self._check_kind(gvk, expected, past_kind)
        elif not declared.kind:
            raise _without_kind(gvk, expected, text, parsed, validation)
        else:
            gvk = declared.gvk
            if why := null_version(value):
                raise _cannot(gvk, expected.kind, why)
        if node is None:
            return {**value, "kind": expected.kind, "apiVersion": expected.api_version}
        try:
            checked = check(node, value, parsed.text)
        except DecodeError as error:
            raise _cannot(gvk, expected.kind, str(error)) from error
        if is_custom:
            faults = _in_given_order(parsed, checked.unknown_fields)
        else:
            faults = _faults(node, parsed, checked.unknown_fields)
        if faults and validation == "Strict":
            raise _cannot(gvk, expected.kind, f"strict decoding error: {_joined(faults, parsed)}")
        if validation != "Ignore":
            for fault in faults:
                exchange.warn(fault)
        obj = checked.value
        if parsed.is_cut and holds_too_deep(obj):
            raise _unrecognized(expected.kind, text, f"{PARSE_ERROR}exceeded max depth")
        if is_custom:
            if gvk.group_version != expected.group_version:
                raise _other_version(gvk, expected)
            return obj
        obj["kind"], obj["apiVersion"] = expected.kind, expected.api_version
        return obj

    async def decode_options(self, body: Body) -> JsonObject:
        """DeleteOptions, of whatever group they declare; unknown fields are ignored."""
        return await body.runner.run(lambda: self._decode_options(body))

    def _decode_options(self, body: Body) -> JsonObject:
        try:
            parsed = parse(body.text, body.media)
            value = {} if parsed.value is None else parsed.value
            gvk = decoded_type(value).completed(_UNNAMED_OPTIONS)
        except (UnreadableBody, UnreadableType) as error:
            raise BadRequest(str(error)) from error
        if gvk.kind in _UNVERSIONED_META:
            raise BadRequest(
                f"converting (v1.{gvk.kind}) to (v1.DeleteOptions): unknown conversion"
            )
        if gvk.kind != _UNNAMED_OPTIONS.kind:
            raise BadRequest(
                f'no kind "{gvk.kind}" is registered for version "{gvk.api_version}" in scheme '
                f'"{_OPTIONS_SCHEME}"'
            )
        node = self._kinds.node(_DELETE_OPTIONS)
        assert node is not None, "the definitions have DeleteOptions"
        try:
            return check(node, value, parsed.text).value
        except DecodeError as error:
            raise BadRequest(str(error)) from error

    def _check_kind(
        self,
        gvk: GroupVersionKind,
        expected: GroupVersionKind,
        past_kind: GroupVersionKind | None,
    ) -> None:
        if gvk is expected or gvk in (expected, past_kind):
            return
        if not self._kinds.is_known(gvk):
            raise _cannot(gvk, expected.kind, not_registered(gvk))
        if gvk.kind != expected.kind:
            raise _cannot(gvk, expected.kind, not_convertible(gvk, expected))
        raise _other_version(gvk, expected)


def _in_given_order(parsed: Parsed, unknown: list[str]) -> list[str]:
    words = [f'duplicate field "{path}"' for path in parsed.duplicates]
    words += [f'unknown field "{path}"' for path in unknown[: field_error.FAULTS_MAX + 1]]
    return [*parsed.faults, *words]


def _faults(node: TypeNode, parsed: Parsed, unknown: list[str]) -> list[str]:
    if parsed.duplicates:
        return strict_faults(node, parsed.text.decode("utf-8", "proreus.replace_each_byte"))
    return [*parsed.faults, *(f'unknown field "{path}"' for path in unknown)]


def _joined(faults: list[str], parsed: Parsed) -> str:
    if not parsed.faults:
        return ", ".join(field_error.limited(faults))
    lines = "".join(f"\n  {fault}" for fault in field_error.limited(list(parsed.faults)))
    rest = faults[len(parsed.faults) :]
    return ", ".join([f"yaml: unmarshal errors:{lines}", *field_error.limited(rest)])


def _cannot(gvk: GroupVersionKind, kind: str, why: str) -> BadRequest:
    return BadRequest(f'{gvk.kind} in version "{gvk.version}" cannot be handled as a {kind}: {why}')


def _other_version(gvk: GroupVersionKind, expected: GroupVersionKind) -> BadRequest:
    return BadRequest(
        f"the API version in the data ({gvk.api_version}) does not match the expected API "
        f"version ({expected.api_version})"
    )


def _without_kind(
    gvk: GroupVersionKind, expected: GroupVersionKind, body: bytes, parsed: Parsed, validation: str
) -> BadRequest:
    """The decoder that checks for unknown fields quotes the body, the other one the JSON of it."""
    if validation == "Ignore":
        text = parsed.text.strip().decode(errors="replace")
        return _cannot(gvk, expected.kind, missing_kind(text))
    return _unrecognized(expected.kind, body, missing_kind(body.decode(errors="replace")))


def _unrecognized(kind: str, body: bytes, why: str) -> BadRequest:
    return BadRequest(
        f"the object provided is unrecognized (must be of type {kind}): {why} ({_summary(body)})"
    )


def _summary(body: bytes) -> str:
    if not body:
        return "<empty>"
    more = " ..." if len(body) > _SHOWN_BYTES else ""
    start = body[:_SHOWN_BYTES]
    return (start.decode("utf-8", "replace") if body[:1] == b"{" else start.hex()) + more
