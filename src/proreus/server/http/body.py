"""Request bodies: bytes → a decoded object of the endpoint's kind (spec/server §6.1, §12).

JSON, YAML or protobuf by Content-Type; checked against the kind's type; unknown and duplicate
fields refused, warned about or ignored as the request asks. A body is decoded once, long YAML
beside the loop. Cost of a pod of 2 kB: 16 µs if its spec came before (``schema.known_specs``), else
40.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar

from proreus.api import field_error, go_text
from proreus.api.group_version import GroupKind, GroupVersion, GroupVersionKind
from proreus.api.status import BadRequest, Invalid, TooLarge, UnsupportedMediaType
from proreus.api.wire import strict_json
from proreus.api.wire.slow_json import holds_too_deep
from proreus.net.http_request import BodyTooLarge, BodyUnreadable
from proreus.server.http.body_syntax import (
    PARSE_ERROR,
    Parsed,
    ParsedAside,
    Unreadable,
    is_long,
    parse,
    parse_aside,
)
from proreus.server.http.exchange import Exchange
from proreus.server.http.negotiation import SERVED, Media, media_type
from proreus.server.registry.kinds import KnownKinds, not_convertible, not_registered
from proreus.server.schema.check import DecodeError, check
from proreus.server.schema.known_specs import KnownSpecs, Split, split
from proreus.server.schema.rules import JsonObject

T = TypeVar("T")
BODY_BYTES_MAX = 3 * 1024 * 1024
_SHOWN_BYTES = 30
_JSON = Media.JSON.value
# A place in Kubernetes' sources that its clients see in messages.
_OPTIONS_SCHEME = "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme/register.go:27"
_DELETE_OPTIONS = GroupVersionKind("", "v1", "DeleteOptions")
# A version that is no longer served, but still taken from those who drain nodes.
_TAKEN_AS = {
    GroupVersionKind("policy", "v1beta1", "Eviction"): GroupVersionKind("policy", "v1", "Eviction")
}


async def read_body(exchange: Exchange) -> bytes:
    """Raises TooLarge, BadRequest."""
    try:
        return await exchange.request.read_body(BODY_BYTES_MAX)
    except BodyTooLarge as error:
        raise TooLarge(f"Request entity too large: limit is {BODY_BYTES_MAX}") from error
    except BodyUnreadable as error:
        raise BadRequest(f"the body of the request could not be read: {error}") from error


def input_media(exchange: Exchange) -> Media:
    """Raises UnsupportedMediaType."""
    media = _media(exchange)
    if media is None:
        raise UnsupportedMediaType(
            "the body of the request was in an unknown format - accepted media types include: "
            f"{', '.join(SERVED)}"
        )
    return media


def _media(exchange: Exchange) -> Media | None:
    header = exchange.headers.get("Content-Type", "")
    if not header or header == _JSON:
        return Media.JSON
    try:
        return Media(media_type(header).lower())
    except ValueError:
        return None  # a patch, or nothing that is known here


class ObjectDecoder:
    """Decodes bodies into the kinds the server knows."""

    def __init__(self, kinds: KnownKinds) -> None:
        self._kinds = kinds
        self._specs = KnownSpecs()
        self._aside = ThreadPoolExecutor(max_workers=1, thread_name_prefix="bodies")

    async def read(self, exchange: Exchange) -> bytes:
        """A body to be decoded here; what takes long to parse is parsed already."""
        body = await read_body(exchange)
        media = _media(exchange)
        if media is None or not is_long(body, media):
            return body
        return await self.aside(partial(parse_aside, body, media))

    async def aside(self, work: Callable[[], T]) -> T:
        """Beside the loop, one at a time: every thread that works takes its turns from the loop."""
        return await asyncio.get_running_loop().run_in_executor(self._aside, work)

    async def decode(
        self, exchange: Exchange, body: bytes, expected: GroupVersionKind, validation: str
    ) -> JsonObject:
        """Raises BadRequest. ``validation``: Strict, Warn or "" (warn), Ignore."""
        if isinstance(body, ParsedAside):
            return await self.aside(
                partial(self._decode, exchange, body, expected, validation, None)
            )
        parts = split(body, expected) if input_media(exchange) is Media.JSON else None
        return self._decode(exchange, body, expected, validation, parts)

    def _decode(
        self,
        exchange: Exchange,
        body: bytes,
        expected: GroupVersionKind,
        validation: str,
        parts: Split | None,
    ) -> JsonObject:
        media = input_media(exchange)
        if parts is not None and (known := self._with_known_spec(parts, expected)) is not None:
            return known
        try:
            parsed = parse(body, media)
            value = {} if parsed.value is None else parsed.value
            gvk = _declared(value, expected)
        except Unreadable as error:
            raise _unrecognized(expected.kind, body, str(error)) from error
        node = self._kinds.node(expected)
        if node is not None and node.decode is not None:
            _check_custom_kind(gvk, expected, value)
        else:
            self._check_kind(gvk, expected)
        if node is None:
            return {**value, "kind": expected.kind, "apiVersion": expected.api_version}
        try:
            checked = check(node, value, parsed.text)
        except DecodeError as error:
            raise _cannot(gvk, expected.kind, str(error)) from error
        if node.decode is not None:
            faults = _in_given_order(parsed, checked.unknown_fields)
        else:
            faults = _faults(value, parsed, checked.unknown_fields)
        if faults and validation == "Strict":
            raise _cannot(gvk, expected.kind, f"strict decoding error: {_joined(faults, parsed)}")
        if validation != "Ignore":
            for fault in faults:
                exchange.warn(fault)
        obj = checked.value
        if parsed.is_cut and holds_too_deep(obj):
            raise _unrecognized(expected.kind, body, f"{PARSE_ERROR}exceeded max depth")
        obj["kind"], obj["apiVersion"] = expected.kind, expected.api_version
        if parts is not None and not faults and node.decode is None and "spec" in obj:
            self._specs.add(parts, obj["spec"])
        return obj

    def _with_known_spec(self, parts: Split, expected: GroupVersionKind) -> JsonObject | None:
        """The object, if its spec is known and the rest has no fault."""
        spec = self._specs.find(parts)
        node = self._kinds.node(expected) if spec is not None else None
        if node is None:
            return None
        try:
            value, duplicates = strict_json.decode_strict(parts.rest)
            checked = check(node, value)
        except (strict_json.JsonError, DecodeError):
            return None
        if duplicates or checked.unknown_fields:
            return None
        obj = checked.value
        obj["spec"] = spec
        return obj

    def decode_options(self, exchange: Exchange, body: bytes) -> JsonObject:
        """DeleteOptions, of whatever group they say they are; unknown fields do not matter."""
        try:
            parsed = parse(body, input_media(exchange))
            value = {} if parsed.value is None else parsed.value
            gvk = _declared(value, _DELETE_OPTIONS)
        except Unreadable as error:
            raise BadRequest(str(error)) from error
        if gvk.kind != _DELETE_OPTIONS.kind:
            raise BadRequest(
                f'no kind "{gvk.kind}" is registered for version "{gvk.api_version}" in scheme '
                f'"{_OPTIONS_SCHEME}"'
            )
        node = self._kinds.node(_DELETE_OPTIONS)
        assert node is not None, "the definitions have DeleteOptions"
        try:
            return check(node, value, parsed.text).value
        except DecodeError as error:
            raise _cannot(gvk, _DELETE_OPTIONS.kind, str(error)) from error

    def _check_kind(self, gvk: GroupVersionKind, expected: GroupVersionKind) -> None:
        if gvk is expected or gvk == expected or _TAKEN_AS.get(gvk) == expected:
            return
        if not self._kinds.is_known(gvk):
            raise _cannot(gvk, expected.kind, not_registered(gvk))
        if gvk.kind != expected.kind:
            raise _cannot(gvk, expected.kind, not_convertible(gvk, expected))
        raise BadRequest(
            f"the API version in the data ({gvk.api_version}) does not match the expected API "
            f"version ({expected.api_version})"
        )


def _check_custom_kind(gvk: GroupVersionKind, expected: GroupVersionKind, value: Any) -> None:
    """A custom kind is checked like a field. Raises Invalid."""
    wrong = [
        field_error.invalid(field, given, f"must be {wanted}")
        for field, given, wanted in (
            ("kind", gvk.kind, expected.kind),
            ("apiVersion", gvk.api_version, expected.api_version),
        )
        if given != wanted
    ]
    if wrong:
        metadata = value.get("metadata")
        name = metadata.get("name") if isinstance(metadata, dict) else ""
        raise Invalid.of(GroupKind(gvk.group, gvk.kind), name or "", wrong)


def _in_given_order(parsed: Parsed, unknown: list[str]) -> list[str]:
    words = [f'duplicate field "{path}"' for path in parsed.duplicates]
    words += [f'unknown field "{path}"' for path in unknown[: field_error.FAULTS_MAX + 1]]
    return [*parsed.faults, *words]


def _declared(value: Any, expected: GroupVersionKind) -> GroupVersionKind:
    """What the body says it is; what it leaves out is what the path says. Raises Unreadable."""
    head = PARSE_ERROR
    if not isinstance(value, dict):
        raise Unreadable(head + _not_an_object(value))
    kind, api_version = value.get("kind") or "", value.get("apiVersion") or ""
    if kind == expected.kind and api_version == expected.api_version:
        return expected
    for field, found in (("kind", kind), ("apiVersion", api_version)):
        if not isinstance(found, str):
            raise Unreadable(
                f"{head}json: cannot unmarshal {go_text.json_kind(found)} into Go struct field "
                f".{field} of type string"
            )
    if api_version.count("/") > 1:
        raise Unreadable(f"{head}unexpected GroupVersion string: {api_version}")
    version = GroupVersion.parse(api_version) if api_version else expected.group_version
    return GroupVersionKind(version.group, version.version, kind or expected.kind)


def _faults(value: Any, parsed: Parsed, unknown: list[str]) -> list[str]:
    if not unknown and not parsed.duplicates:
        return list(parsed.faults)
    words = {path: f'unknown field "{path}"' for path in unknown}
    words |= {path: f'duplicate field "{path}"' for path in parsed.duplicates}
    # Both lists are in the order of the body; only together must they be put in order.
    are_mixed = unknown and parsed.duplicates
    ordered = strict_json.in_document_order(value, words) if are_mixed else list(words)
    return [*parsed.faults, *(words[path] for path in ordered)]


def _joined(faults: list[str], parsed: Parsed) -> str:
    if not parsed.faults:
        return ", ".join(field_error.told(faults))
    lines = "".join(f"\n  {fault}" for fault in field_error.told(list(parsed.faults)))
    rest = faults[len(parsed.faults) :]
    return ", ".join([f"yaml: unmarshal errors:{lines}", *field_error.told(rest)])


def _cannot(gvk: GroupVersionKind, kind: str, why: str) -> BadRequest:
    return BadRequest(f'{gvk.kind} in version "{gvk.version}" cannot be handled as a {kind}: {why}')


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


def _not_an_object(value: Any) -> str:
    return (
        f"json: cannot unmarshal {go_text.json_kind(value)} "
        'into Go value of type struct { APIVersion string "json:\\"apiVersion,omitempty\\""; '
        'Kind string "json:\\"kind,omitempty\\"" }'
    )
