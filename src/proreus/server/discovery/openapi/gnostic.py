"""OpenAPI documents in protobuf: the messages of the gnostic compiler, written from a table.

client-go reads OpenAPI v2 in no other form. A message is a table of JSON key → (field number, how
its value is written); keys that begin with ``x-`` go to the message's extension field as text.
Keys a message does not know are left out, as gnostic would refuse them.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from typing import Any

from proreus.api.wire import json

_FIXED, _BYTES = 1, 2  # wire types of doubles, and of everything that has a length
_Write = Callable[[int, Any], bytes]  # field number, value → the whole field


def encode_v2(document: Mapping[str, Any]) -> bytes:
    return _DOCUMENT_V2.body(document)


def encode_v3(document: Mapping[str, Any]) -> bytes:
    return _DOCUMENT_V3.body(document)


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def _field(number: int, payload: bytes) -> bytes:
    return _varint(number << 3 | _BYTES) + _varint(len(payload)) + payload


def _text(number: int, value: Any) -> bytes:
    return _field(number, str(value).encode())


def _flag(number: int, value: Any) -> bytes:
    return _varint(number << 3) + (b"\x01" if value else b"\x00")


def _any(number: int, value: Any) -> bytes:
    """A value of no fixed type travels as YAML text, which JSON is."""
    return _field(number, _text(2, json.encode(value).decode()))


class _Message:
    """Fields are added after all messages exist, because they refer to each other."""

    def __init__(self, extension: int = 0) -> None:
        self.fields: dict[str, tuple[int, _Write]] = {}
        self.extension = extension

    def body(self, value: Mapping[str, Any]) -> bytes:
        parts = []
        for key, content in value.items():
            if key in self.fields:
                number, write = self.fields[key]
                parts.append(write(number, content))
            elif self.extension and key.startswith("x-"):
                parts.append(_field(self.extension, _text(1, key) + _any(2, content)))
        return b"".join(parts)

    def __call__(self, number: int, value: Any) -> bytes:
        return _field(number, self.body(value))


def _each(write: _Write) -> _Write:
    """A repeated field."""
    return lambda number, values: b"".join([write(number, value) for value in values])


def _inside(write: _Write, inner: int = 1) -> _Write:
    """A message that only wraps one field: the way alternatives and lists are written."""
    return lambda number, value: _field(number, write(inner, value))


def _named(write: _Write, inner: int = 1) -> _Write:
    """A JSON object with free keys: a message of repeated (name, value) pairs."""

    def pairs(number: int, value: Mapping[str, Any]) -> bytes:
        entries = [
            _field(inner, _text(1, name) + write(2, content)) for name, content in value.items()
        ]
        return _field(number, b"".join(entries))

    return pairs


def _either(reference: _Write, plain: _Write) -> _Write:
    """A reference if the value is one, the thing itself otherwise."""
    return lambda number, value: (reference if "$ref" in value else plain)(number, value)


def _requirement(number: int, value: Mapping[str, list[str]]) -> bytes:
    return _named(_inside(_each(_text)))(number, value)


# OpenAPI v2

_DOCUMENT_V2, _INFO_V2, _PATH_ITEM_V2 = _Message(16), _Message(7), _Message(10)
_OPERATION_V2, _BODY_V2, _QUERY_V2, _PATH_V2 = (_Message(n) for n in (13, 6, 23, 22))
_RESPONSE_V2, _SCHEMA_V2, _API_KEY_V2 = _Message(5), _Message(31), _Message(5)
_REFERENCE_V2 = _Message()


def _parameter_v2(number: int, value: Mapping[str, Any]) -> bytes:
    """Parameter › body, or › NonBodyParameter › query or path."""
    match value["in"]:
        case "body":
            parameter = _BODY_V2(1, value)
        case "path":
            parameter = _field(2, _PATH_V2(4, value))
        case _:
            parameter = _field(2, _QUERY_V2(3, value))
    return _field(number, parameter)


_parameter_item_v2 = _either(_inside(_REFERENCE_V2, 2), _inside(_parameter_v2))


def _additional_v2(number: int, value: Any) -> bytes:
    inner = _flag(2, value) if isinstance(value, bool) else _SCHEMA_V2(1, value)
    return _field(number, inner)


_SHAPE_V2: dict[str, tuple[int, _Write]] = {
    "$ref": (1, _text), "format": (2, _text), "title": (3, _text), "description": (4, _text),
    "default": (5, _any), "required": (19, _each(_text)), "enum": (20, _each(_any)),
    "additionalProperties": (21, _additional_v2), "type": (22, _inside(_text)),
    "items": (23, _inside(_SCHEMA_V2)), "allOf": (24, _each(_SCHEMA_V2)),
    "properties": (25, _named(_SCHEMA_V2)),
}  # fmt: skip
_SCHEMA_V2.fields = _SHAPE_V2
_REFERENCE_V2.fields = {"$ref": (1, _text)}
_INFO_V2.fields = {"title": (1, _text), "version": (2, _text), "description": (3, _text)}
_BODY_V2.fields = {
    "description": (1, _text), "name": (2, _text), "in": (3, _text), "required": (4, _flag),
    "schema": (5, _SCHEMA_V2),
}  # fmt: skip
_QUERY_V2.fields = {
    "required": (1, _flag), "in": (2, _text), "description": (3, _text), "name": (4, _text),
    "type": (6, _text), "format": (7, _text), "uniqueItems": (20, _flag),
}  # fmt: skip
_PATH_V2.fields = {
    "required": (1, _flag), "in": (2, _text), "description": (3, _text), "name": (4, _text),
    "type": (5, _text), "format": (6, _text), "uniqueItems": (19, _flag),
}  # fmt: skip
_RESPONSE_V2.fields = {"description": (1, _text), "schema": (2, _inside(_SCHEMA_V2))}
_OPERATION_V2.fields = {
    "tags": (1, _each(_text)), "summary": (2, _text), "description": (3, _text),
    "operationId": (5, _text), "produces": (6, _each(_text)), "consumes": (7, _each(_text)),
    "parameters": (8, _each(_parameter_item_v2)), "responses": (9, _named(_inside(_RESPONSE_V2))),
    "schemes": (10, _each(_text)), "deprecated": (11, _flag),
}  # fmt: skip
_PATH_ITEM_V2.fields = {
    "get": (2, _OPERATION_V2), "put": (3, _OPERATION_V2), "post": (4, _OPERATION_V2),
    "delete": (5, _OPERATION_V2), "options": (6, _OPERATION_V2), "head": (7, _OPERATION_V2),
    "patch": (8, _OPERATION_V2), "parameters": (9, _each(_parameter_item_v2)),
}  # fmt: skip
_API_KEY_V2.fields = {
    "type": (1, _text), "name": (2, _text), "in": (3, _text), "description": (4, _text),
}  # fmt: skip
_DOCUMENT_V2.fields = {
    "swagger": (1, _text), "info": (2, _INFO_V2), "paths": (8, _named(_PATH_ITEM_V2, 2)),
    "definitions": (9, _named(_SCHEMA_V2)), "parameters": (10, _named(_parameter_v2)),
    "security": (12, _each(_requirement)),
    "securityDefinitions": (13, _named(_inside(_API_KEY_V2, 2))),
}  # fmt: skip

# OpenAPI v3

_DOCUMENT_V3, _INFO_V3, _PATH_ITEM_V3 = _Message(9), _Message(7), _Message(14)
_OPERATION_V3, _PARAMETER_V3, _BODY_V3 = _Message(13), _Message(14), _Message(4)
_MEDIA_V3, _RESPONSE_V3, _SCHEMA_V3, _COMPONENTS_V3 = (_Message(n) for n in (5, 5, 36, 10))
_SECURITY_V3, _REFERENCE_V3 = _Message(9), _Message()

_shape_v3 = _either(_inside(_REFERENCE_V3, 2), _inside(_SCHEMA_V3))


def _additional_v3(number: int, value: Any) -> bytes:
    inner = _flag(2, value) if isinstance(value, bool) else _shape_v3(1, value)
    return _field(number, inner)


def _default_v3(number: int, value: Any) -> bytes:
    """Only numbers, flags and texts have a place; other defaults are left out."""
    match value:
        case bool():
            return _field(number, _flag(2, value))
        case str():
            return _field(number, _text(3, value))
        case int() | float():
            return _field(number, _varint(1 << 3 | _FIXED) + struct.pack("<d", value))
        case _:
            return b""


_REFERENCE_V3.fields = {"$ref": (1, _text), "description": (3, _text)}
_INFO_V3.fields = {"title": (1, _text), "description": (2, _text), "version": (6, _text)}
_SCHEMA_V3.fields = {
    "nullable": (1, _flag), "title": (9, _text), "uniqueItems": (20, _flag),
    "required": (23, _each(_text)), "enum": (24, _each(_any)), "type": (25, _text),
    "allOf": (26, _each(_shape_v3)), "oneOf": (27, _each(_shape_v3)),
    "anyOf": (28, _each(_shape_v3)), "items": (30, _inside(_shape_v3)),
    "properties": (31, _named(_shape_v3)), "additionalProperties": (32, _additional_v3),
    "default": (33, _default_v3), "description": (34, _text), "format": (35, _text),
}  # fmt: skip
_MEDIA_V3.fields = {"schema": (1, _shape_v3)}
_PARAMETER_V3.fields = {
    "name": (1, _text), "in": (2, _text), "description": (3, _text), "required": (4, _flag),
    "schema": (10, _shape_v3),
}  # fmt: skip
_BODY_V3.fields = {
    "description": (1, _text), "content": (2, _named(_MEDIA_V3)), "required": (3, _flag),
}  # fmt: skip
_RESPONSE_V3.fields = {"description": (1, _text), "content": (3, _named(_MEDIA_V3))}
_OPERATION_V3.fields = {
    "tags": (1, _each(_text)), "description": (3, _text), "operationId": (5, _text),
    "parameters": (6, _each(_inside(_PARAMETER_V3))), "requestBody": (7, _inside(_BODY_V3)),
    "responses": (8, _named(_inside(_RESPONSE_V3), 2)), "deprecated": (10, _flag),
}  # fmt: skip
_PATH_ITEM_V3.fields = {
    "get": (4, _OPERATION_V3), "put": (5, _OPERATION_V3), "post": (6, _OPERATION_V3),
    "delete": (7, _OPERATION_V3), "options": (8, _OPERATION_V3), "head": (9, _OPERATION_V3),
    "patch": (10, _OPERATION_V3), "parameters": (13, _each(_inside(_PARAMETER_V3))),
}  # fmt: skip
_SECURITY_V3.fields = {
    "type": (1, _text), "description": (2, _text), "name": (3, _text), "in": (4, _text),
}  # fmt: skip
_COMPONENTS_V3.fields = {
    "schemas": (1, _named(_shape_v3)), "securitySchemes": (7, _named(_inside(_SECURITY_V3))),
}  # fmt: skip
_DOCUMENT_V3.fields = {
    "openapi": (1, _text), "info": (2, _INFO_V3), "paths": (4, _named(_PATH_ITEM_V3)),
    "components": (5, _COMPONENTS_V3),
}  # fmt: skip
