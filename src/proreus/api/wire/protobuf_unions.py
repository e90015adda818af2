"""The three messages of a JSON schema that are one thing or another, in JSON and on the wire."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from proreus.api.json_types import JsonObject
from proreus.api.wire.amplification import Budget
from proreus.api.wire.protobuf_special import Encode, fields
from proreus.api.wire.protobuf_wire import BYTES, ProtobufError, delimited, write_tag, write_varint

# Field numbers: the alternative, the schema.
UNIONS = {
    "apiextensions.v1.JSONSchemaPropsOrBool": (1, 2),
    "apiextensions.v1.JSONSchemaPropsOrArray": (2, 1),
    "apiextensions.v1.JSONSchemaPropsOrStringArray": (2, 1),
}


class Schema(Protocol):
    """The codec's message of JSONSchemaProps, which contains the unions again."""

    def decode(self, buffer: bytes, at: int, end: int, budget: Budget) -> JsonObject: ...
    def encode(self, value: Any) -> bytes: ...


def union_of(
    name: str, schema: Callable[[], Schema]
) -> tuple[Callable[[bytes, Budget], Any], Encode]:
    """A schema, or else a boolean, a list of schemas or a list of names."""
    other_number, schema_number = UNIONS[name]
    schema_tag, other_tag = write_tag(schema_number, BYTES), write_tag(other_number, BYTES)
    is_bool, is_names = name.endswith("OrBool"), name.endswith("StringArray")

    def decode(body: bytes, budget: Budget) -> Any:
        allowed = True
        items: list[Any] = []
        for number, value in fields(body, name):
            if isinstance(value, int):
                allowed = bool(value)
            elif number == schema_number:
                return schema().decode(value, 0, len(value), budget)
            elif is_names:
                items.append(value.decode("utf-8", "replace"))
            else:
                items.append(schema().decode(value, 0, len(value), budget))
        return allowed if is_bool else items

    def encode(value: Any) -> bytes:
        match value:
            case bool() if is_bool:
                return b"\x08" + write_varint(value)
            case dict():
                allows = b"\x08\x01" if is_bool else b""  # goes along with a schema
                return allows + delimited(schema_tag, schema().encode(value))
            case list() if not is_bool:
                written = (v.encode() if is_names else schema().encode(v) for v in value)
                return b"".join(delimited(other_tag, item) for item in written)
            case _:
                raise ProtobufError(f"{name} cannot be {value!r}")

    return decode, encode
