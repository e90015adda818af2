"""Classes of pydantic and msgspec as custom resources: their schemas, their values.

Both libraries name fields on the wire by their own settings (``alias_generator``, ``rename``) and
say their JSON schema themselves; here it is made structural, as Kubernetes wants it. pydantic is
not imported: its classes are known by their methods.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import msgspec

from proreus.api.json_types import Json, JsonObject
from proreus.client.schema_keywords import SchemaError

_DROPPED = {"title", "$defs", "discriminator", "const", "anyOf", "$ref", "allOf", "default"}


def is_pydantic(kind: Any) -> bool:
    return isinstance(kind, type) and hasattr(kind, "model_validate")


def is_model(kind: Any) -> bool:
    """Whether a class knows its own schema and reads its own values."""
    return is_pydantic(kind) or (isinstance(kind, type) and issubclass(kind, msgspec.Struct))


def model_schema(kind: Any) -> JsonObject:
    """The structural schema of a class. Raises SchemaError."""
    said = kind.model_json_schema() if is_pydantic(kind) else msgspec.json.schema(kind)
    return _structural(said, said.get("$defs", {}), ())


def from_model_wire(kind: Any, value: Any) -> Any:
    """A value of a class from its JSON. Raises what the library raises."""
    return kind.model_validate(value) if is_pydantic(kind) else msgspec.convert(value, kind)


def to_model_wire(value: Any) -> JsonObject:
    """JSON of a value; fields that are None are left out."""
    if is_pydantic(type(value)):
        dumped: JsonObject = value.model_dump(mode="json", by_alias=True, exclude_none=True)
        return dumped
    plain: JsonObject = _without_none(msgspec.to_builtins(value))
    return plain


def model_fields(kind: Any) -> frozenset[str]:
    """The names of a class's fields on the wire."""
    return _model_fields(kind)


@lru_cache(maxsize=1024)
def _model_fields(kind: Any) -> frozenset[str]:
    return frozenset(model_schema(kind).get("properties", ()))


def _structural(schema: Json, known: Json, inside: tuple[str, ...]) -> JsonObject:
    """``inside``: the definitions it is part of; one that is part of itself has no such schema."""
    found: JsonObject = {}
    for reference in (schema.get("$ref"), *(one.get("$ref") for one in schema.get("allOf", ()))):
        if reference:
            name = str(reference).rpartition("/")[2]
            if name in inside:
                raise SchemaError(f"{name} has no schema: it is part of itself; use Any there")
            found |= _structural(known[name], known, (*inside, name))
    if options := schema.get("anyOf"):
        found |= _of_options(options, known, inside)
    found |= {key: value for key, value in schema.items() if key not in _DROPPED}
    if "const" in schema:
        found["enum"] = [schema["const"]]
    if schema.get("default") is not None:
        found["default"] = schema["default"]
    _number_limits(found)
    return _with_inner(found, known, inside)


def _with_inner(found: JsonObject, known: Json, inside: tuple[str, ...]) -> JsonObject:
    if isinstance(properties := found.get("properties"), dict):
        found.pop("additionalProperties", None)  # a structural schema has one of the two
        found["properties"] = {
            name: _structural(field, known, inside) for name, field in properties.items()
        }
    elif isinstance(values := found.get("additionalProperties"), dict) and values:
        found["additionalProperties"] = _structural(values, known, inside)
    elif found.pop("additionalProperties", None) is not None:
        found["x-kubernetes-preserve-unknown-fields"] = True
    if isinstance(items := found.get("items"), dict):
        found["items"] = _structural(items, known, inside)
    if "prefixItems" in found:
        raise SchemaError("a tuple has no schema: use a list or a class")
    is_typed = found.keys() & {"type", "x-kubernetes-int-or-string", "enum"}
    return found if is_typed else {**found, "x-kubernetes-preserve-unknown-fields": True}


def _of_options(options: list[Json], known: Json, inside: tuple[str, ...]) -> JsonObject:
    """``T | None`` is a field that may be left out, ``int | str`` has a word of its own."""
    rest = [one for one in options if one.get("type") != "null"]
    if len(rest) == 1:
        return _structural(rest[0], known, inside)
    if {str(one.get("type")) for one in rest} == {"integer", "string"}:
        return {"x-kubernetes-int-or-string": True}
    raise SchemaError("only `T | None` and `int | str` are unions that have a schema")


def _number_limits(found: JsonObject) -> None:
    """JSON schema's exclusive limits are numbers, OpenAPI's are flags beside the limit."""
    for limit, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if exclusive in found and not isinstance(found[exclusive], bool):
            found[limit], found[exclusive] = found[exclusive], True


def _without_none(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_none(item) for key, item in value.items() if item is not None}
    return [_without_none(item) for item in value] if isinstance(value, list) else value
