"""A body's bytes → a decoded value, before its kind is known: JSON, YAML or protobuf.

Long bodies are parsed in a thread: YAML and protobuf, and JSON so long that locating a fault in it
may take seconds.
"""

from __future__ import annotations

from typing import Any, NamedTuple, assert_never

from proreus.api.patch.written_order import in_written_order
from proreus.api.wire import json, strict_json
from proreus.api.wire.amplification import check_json
from proreus.server.http.negotiation import BodyMedia, Media
from proreus.server.registry.declared_types import PARSE_ERROR

# A pod of YAML takes 1.5 ms; what is longer than a few of them is parsed in a thread.
YAML_BYTES_MAX = 16 * 1024
JSON_BYTES_MAX = 64 * 1024
_NESTED_MAX = 500  # brackets; their cost in YAML grows with the square of their depth
_CONTAINERS_MAX = 4_000  # objects and lists, each of which is checked, defaulted and validated
_PROTOBUF_BYTES_MAX = 32 * 1024  # an empty message takes two


class Parsed(NamedTuple):
    """A body before its type is looked at. ``faults`` are worded; ``text`` is its JSON."""

    value: Any
    text: bytes = b""
    duplicates: tuple[str, ...] = ()  # field paths
    faults: tuple[str, ...] = ()  # whole phrases, from YAML
    is_cut: bool = False  # some of it is too deep to be kept


class UnreadableBody(ValueError):
    """Bytes that cannot be parsed, so that not even their kind is known."""


def is_long(body: bytes, media: BodyMedia) -> bool:
    """Whether the body takes too long to parse and check on the loop."""
    match media:
        case Media.YAML:
            return len(body) > YAML_BYTES_MAX or body.count(b"[") + body.count(b"{") > _NESTED_MAX
        case Media.JSON:
            # Of the containers of a short body there cannot be too many: each is two bytes.
            return len(body) > 2 * _CONTAINERS_MAX and (
                len(body) > JSON_BYTES_MAX or body.count(b"{") + body.count(b"[") > _CONTAINERS_MAX
            )
        case Media.PROTOBUF:
            return len(body) > _PROTOBUF_BYTES_MAX
        case _:
            assert_never(media)


def parse(body: bytes, media: BodyMedia) -> Parsed:
    """Raises Unreadable, TooManyContainers."""
    match media:
        case Media.JSON:
            return _json(body)
        case Media.YAML:
            return _yaml(body)
        case Media.PROTOBUF:
            return _protobuf(body)
        case _:
            assert_never(media)


def _json(body: bytes) -> Parsed:
    check_json(body)
    try:
        try:
            value, duplicates = strict_json.decode_strict(body)
        except strict_json.JsonTooDeep as deep:
            return Parsed(deep.read.value, body, deep.read.duplicates, is_cut=True)
        return Parsed(value, body, duplicates)
    except strict_json.JsonError as error:
        raise UnreadableBody(PARSE_ERROR + str(error)) from error


def _yaml(body: bytes) -> Parsed:
    from proreus.api.wire import yaml

    try:
        read = yaml.decode_deep(body)
    except yaml.YamlError as error:
        raise UnreadableBody(str(error)) from error
    value = in_written_order(read.value, None)  # it becomes JSON, and is read as that
    text = b"" if read.is_cut else json.encode(value)
    return Parsed(value, text, faults=read.duplicates, is_cut=read.is_cut)


def _protobuf(body: bytes) -> Parsed:
    from proreus.api.wire import protobuf

    try:
        return Parsed(protobuf.decode(body))
    except protobuf.ProtobufError as error:
        raise UnreadableBody(str(error)) from error
