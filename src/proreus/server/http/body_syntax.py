"""A body's bytes → a decoded value, before anyone asks what kind it is.

JSON, YAML or protobuf. What takes long is read beside the loop: long YAML and protobuf, and JSON so
long that the words for a fault in it may take seconds to find.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from proreus.api.wire import json, strict_json
from proreus.server.http.negotiation import Media
from proreus.server.registry.write import LONG_BYTES

# A pod of YAML takes 1.5 ms; what is longer than a few of them is parsed beside the loop.
YAML_BYTES_MAX = 16 * 1024
JSON_BYTES_MAX = LONG_BYTES
_NESTED_MAX = 500  # brackets; their cost in YAML grows with the square of their depth
PARSE_ERROR = "couldn't get version/kind; json parse error: "


class Parsed(NamedTuple):
    """A body before its type is looked at. ``faults`` are worded; ``text`` is its JSON."""

    value: Any
    text: bytes = b""
    duplicates: tuple[str, ...] = ()  # field paths
    faults: tuple[str, ...] = ()  # whole phrases, from YAML
    is_cut: bool = False  # some of it is too deep to be kept


class Unreadable(ValueError):
    """Bytes of which not even the kind can be told."""


class ParsedAside(bytes):
    """A body that was parsed when it was read, and what came of it."""

    parsed: Parsed | Unreadable


def is_long(body: bytes, media: Media) -> bool:
    match media:
        case Media.YAML:
            return len(body) > YAML_BYTES_MAX or body.count(b"[") + body.count(b"{") > _NESTED_MAX
        case _:
            return len(body) > JSON_BYTES_MAX


def parse_aside(body: bytes, media: Media) -> ParsedAside:
    aside = ParsedAside(body)
    try:
        aside.parsed = parse(body, media)
    except Unreadable as error:
        aside.parsed = error
    return aside


def parse(body: bytes, media: Media) -> Parsed:
    """Raises Unreadable."""
    if isinstance(body, ParsedAside):
        if isinstance(body.parsed, Unreadable):
            raise body.parsed
        return body.parsed
    match media:
        case Media.JSON:
            return _json(body)
        case Media.YAML:
            return _yaml(body)
        case _:
            return _protobuf(body)


def _json(body: bytes) -> Parsed:
    try:
        try:
            value, duplicates = strict_json.decode_strict(body)
        except strict_json.JsonTooDeep as deep:
            return Parsed(deep.read.value, body, deep.read.duplicates, is_cut=True)
        return Parsed(value, body, duplicates)
    except strict_json.JsonError as error:
        raise Unreadable(PARSE_ERROR + str(error)) from error


def _yaml(body: bytes) -> Parsed:
    from proreus.api.wire import yaml

    try:
        read = yaml.decode_deep(body)
    except yaml.YamlError as error:
        raise Unreadable(str(error)) from error
    text = b"" if read.is_cut else json.encode(read.value)
    return Parsed(read.value, text, faults=read.duplicates, is_cut=read.is_cut)


def _protobuf(body: bytes) -> Parsed:
    from proreus.api.wire import protobuf

    try:
        return Parsed(protobuf.decode(body))
    except protobuf.ProtobufError as error:
        raise Unreadable(str(error)) from error
