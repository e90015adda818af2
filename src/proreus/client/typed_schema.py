"""Dataclasses as schemas and as JSON: the types of a custom resource's fields.

Python names become camel case on the wire. A field without a default is required; one with a
default has it in the schema too, so that the server fills it in for everybody.
"""

from __future__ import annotations

import dataclasses
import enum
import types
import typing
from collections.abc import Mapping
from dataclasses import MISSING
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

_SCALARS: dict[type, dict[str, Any]] = {
    str: {"type": "string"},
    int: {"type": "integer", "format": "int64"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
}


class SchemaError(TypeError):
    """A type that has no schema."""


class Checked(dict[str, Any]):
    """Further words of a field's schema: ``Annotated[int, checked(minimum=1)]``."""


def checked(**words: Any) -> Checked:
    """Words as schemas spell them: minimum, maxLength, pattern, description, enum, format…"""
    return Checked(words)


def wire_name(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)


def schema_of(kind: Any) -> dict[str, Any]:
    """The structural schema of a type. Raises SchemaError."""
    origin = get_origin(kind)
    if origin is Annotated:
        inner, *notes = get_args(kind)
        words = [note for note in notes if isinstance(note, Checked)]
        return schema_of(inner) | {key: value for note in words for key, value in note.items()}
    if origin in (Union, types.UnionType):
        return _union(kind)
    if origin is Literal:
        values = list(get_args(kind))
        return {**schema_of(type(values[0])), "enum": values}
    if origin is list:
        return {"type": "array", "items": schema_of(get_args(kind)[0])}
    if origin is dict:
        return {"type": "object", "additionalProperties": schema_of(get_args(kind)[1])}
    if kind is Any:
        return {"x-kubernetes-preserve-unknown-fields": True}
    if kind in _SCALARS:
        return dict(_SCALARS[kind])
    if isinstance(kind, type) and issubclass(kind, enum.StrEnum):
        return {"type": "string", "enum": [one.value for one in kind]}
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        return object_schema(kind)
    raise SchemaError(f"{kind!r} has no schema: use dataclasses, scalars, lists, dicts or Any")


def object_schema(kind: type, *, without: tuple[str, ...] = ()) -> dict[str, Any]:
    """The schema of a dataclass; ``without``: fields that are not part of it."""
    hints = get_type_hints(kind, include_extras=True)
    properties: dict[str, Any] = {}
    required: list[str] = []
    for field in dataclasses.fields(kind):
        if field.name in without:
            continue
        name = wire_name(field.name)
        properties[name] = schema_of(hints[field.name])
        default = _default_of(field)
        if default is MISSING:
            required.append(name)
        elif default is not None:
            properties[name]["default"] = to_wire(default)
    found: dict[str, Any] = {"type": "object", "properties": properties}
    if required:
        found["required"] = required
    doc = kind.__doc__ or ""
    if doc and not doc.startswith(f"{kind.__name__}("):
        found["description"] = doc.strip()
    return found


def to_wire(value: Any) -> Any:
    """JSON of a value; fields that are None are left out."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        pairs = ((field.name, getattr(value, field.name)) for field in dataclasses.fields(value))
        return {wire_name(name): to_wire(item) for name, item in pairs if item is not None}
    match value:
        case enum.Enum():
            return value.value
        case Mapping():
            return {key: to_wire(item) for key, item in value.items()}
        case list() | tuple():
            return [to_wire(item) for item in value]
        case _:
            return value


def from_wire(kind: Any, value: Any) -> Any:
    """A value of a type from its JSON; fields the type does not have are ignored."""
    origin = get_origin(kind)
    if value is None:
        return None
    if origin is Annotated:
        return from_wire(get_args(kind)[0], value)
    if origin in (Union, types.UnionType):
        return from_wire(_inner(kind), value)
    if origin is list:
        return [from_wire(get_args(kind)[0], item) for item in value]
    if origin is dict:
        return {key: from_wire(get_args(kind)[1], item) for key, item in value.items()}
    if isinstance(kind, type) and issubclass(kind, enum.StrEnum):
        return kind(value)
    if kind is float:
        return float(value)
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        hints = get_type_hints(kind, include_extras=True)
        return kind(
            **{
                field.name: from_wire(hints[field.name], value[wire_name(field.name)])
                for field in dataclasses.fields(kind)
                if wire_name(field.name) in value
            }
        )
    return value


def _union(kind: Any) -> dict[str, Any]:
    members = [one for one in get_args(kind) if one is not types.NoneType]
    if set(members) == {int, str}:
        return {"x-kubernetes-int-or-string": True}
    return schema_of(_inner(kind))


def _inner(kind: Any) -> Any:
    members = [one for one in get_args(kind) if one is not types.NoneType]
    if len(members) != 1:
        if set(members) == {int, str}:
            return Any
        raise SchemaError(f"{kind!r} has no schema: only `T | None` and `int | str` are unions")
    return members[0]


def _default_of(field: dataclasses.Field[Any]) -> Any:
    if field.default is not MISSING:
        return field.default
    if field.default_factory is not MISSING:
        return typing.cast("Any", field.default_factory)()
    return MISSING
