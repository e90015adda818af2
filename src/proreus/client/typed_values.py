"""Values of dataclasses as JSON and back. Their types are those of ``typed_schema``."""

from __future__ import annotations

import base64
import dataclasses
import enum
import types
from collections.abc import Mapping
from dataclasses import MISSING, dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from proreus.api.json_types import Json, JsonObject
from proreus.api.values.duration import format_duration, parse_duration
from proreus.api.values.timestamp import format_micro_time, format_time, parse_time
from proreus.client.typed_models import from_model_wire, is_model, model_fields, to_model_wire


@dataclass(frozen=True, slots=True)
class Named:
    name: str


def named(name: str) -> Named:
    """The name of a field on the wire where camel case is not it: ``named("podCIDR")``."""
    return Named(name)


def wire_name(name: str) -> str:
    """Camel case. A trailing underscore, as in ``from_``, is Python's business."""
    first, *rest = name.rstrip("_").split("_")
    return first + "".join(part.capitalize() for part in rest)


def name_on_wire(field: str, hint: Any) -> str:
    if get_origin(hint) is Annotated:
        for note in get_args(hint)[1:]:
            if isinstance(note, Named):
                return note.name
    return wire_name(field)


def is_optional(kind: Any) -> bool:
    if get_origin(kind) is Annotated:
        return is_optional(get_args(kind)[0])
    return get_origin(kind) in (Union, types.UnionType) and types.NoneType in get_args(kind)


def plain(kind: Any) -> Any:
    """``T`` of ``T | None``; other types are themselves."""
    if not is_optional(kind):
        return kind
    rest = tuple(one for one in get_args(kind) if one is not types.NoneType)
    return Union[rest]  # noqa: UP007  # made of a tuple


def to_wire(value: Any) -> Any:
    """JSON of a value; fields that are None or no bytes are left out."""
    if is_model(type(value)):
        return to_model_wire(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            name: to_wire(item)
            for field, name, _ in _fields(type(value))
            if not is_left_out(item := getattr(value, field))
        }
    match value:
        case enum.Enum():
            return value.value
        case datetime():
            moment = value.timestamp() if value.tzinfo else value.replace(tzinfo=UTC).timestamp()
            return format_micro_time(moment) if value.microsecond else format_time(moment)
        case timedelta():
            return format_duration(value.total_seconds())
        case bytes():
            return base64.b64encode(value).decode()
        case Mapping():
            return {key: to_wire(item) for key, item in value.items()}
        case list() | tuple():
            return [to_wire(item) for item in value]
        case _:
            return value


def is_left_out(value: Any) -> bool:
    """Whether a field with this value is not written: servers take no empty text as bytes."""
    return value is None or (isinstance(value, bytes) and not value)


def from_wire(kind: Any, value: Any) -> Any:
    """A value of a type from its JSON; fields the type does not have are ignored."""
    origin = get_origin(kind)
    if value is None:
        return None
    if origin is Annotated:
        return from_wire(get_args(kind)[0], value)
    if origin in (Union, types.UnionType):
        inner = plain(kind)
        return value if get_origin(inner) in (Union, types.UnionType) else from_wire(inner, value)
    if origin is Literal:
        return value
    if origin is list:
        return [from_wire(get_args(kind)[0], item) for item in value]
    if origin is dict:
        return {key: from_wire(get_args(kind)[1], item) for key, item in value.items()}
    if not isinstance(kind, type):
        return value
    if is_model(kind):
        known = model_fields(kind)
        return from_model_wire(kind, {key: value[key] for key in value if key in known})
    if dataclasses.is_dataclass(kind):
        return _object(kind, value)
    return _scalar(kind, value)


def _scalar(kind: type, value: Any) -> Any:
    if issubclass(kind, enum.Enum):
        return kind(value)
    if kind is float:
        return float(value)
    if kind is datetime:
        return datetime.fromtimestamp(parse_time(value), UTC)
    if kind is timedelta:
        return timedelta(seconds=parse_duration(value))
    return base64.b64decode(value) if kind is bytes else value


def _object(kind: type, value: Json) -> Any:
    given: JsonObject = {}
    for field, name, hint in _fields(kind):
        if name in value:
            given[field] = from_wire(hint, value[name])
        elif is_optional(hint) and field in _without_default(kind):
            given[field] = None
    return kind(**given)


def field_names(kind: type) -> frozenset[str]:
    """The fields of a class, by their names on the wire."""
    if is_model(kind):
        return model_fields(kind)
    return frozenset(name for _, name, _ in _fields(kind))


@lru_cache(maxsize=1024)
def _fields(kind: type) -> tuple[tuple[str, str, Any], ...]:
    """Of every field its name, its name on the wire, and its type."""
    hints = get_type_hints(kind, include_extras=True)
    return tuple(
        (field.name, name_on_wire(field.name, hints[field.name]), hints[field.name])
        for field in dataclasses.fields(kind)
    )


@lru_cache(maxsize=1024)
def _without_default(kind: type) -> frozenset[str]:
    return frozenset(
        field.name
        for field in dataclasses.fields(kind)
        if field.default is MISSING and field.default_factory is MISSING
    )
