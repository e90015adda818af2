"""Dataclasses as structural schemas: the types of a custom resource's fields.

    bool, int, float, str            themselves
    datetime, timedelta, bytes       texts with a format: date-time, duration, byte
    Literal["a", "b"], enum.Enum     enumerations
    list[T], dict[str, T]            arrays and maps
    int | str                        x-kubernetes-int-or-string
    T | None                         a field that may be left out
    Any                              anything, kept as it is
    dataclasses                      objects; their docstrings become descriptions
    classes of pydantic and msgspec  objects, as the library says

Further words come by ``Annotated``: ``checked(minimum=1)``, ``Rule("self < 10")``,
``keyed_by("name")``, ``unique()``, ``atomic()``, ``named("podCIDR")``.

Python names become camel case on the wire. A field without a default is required; one with a
default has it in the schema too, so that the server fills it in for all clients.
"""

from __future__ import annotations

import dataclasses
import enum
import types
import typing
from collections.abc import Callable
from dataclasses import MISSING, dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from typing import (
    Annotated,
    Any,
    Literal,
    TypeVar,
    Union,
    Unpack,
    get_args,
    get_origin,
    get_type_hints,
)

from proreus.api.json_types import Json, JsonObject
from proreus.client.schema_keywords import SchemaError, SchemaWords, keyword_fault
from proreus.client.typed_models import is_model, model_schema
from proreus.client.typed_values import is_left_out, is_optional, name_on_wire, plain, to_wire

T = TypeVar("T")
_RULES = "__rules__"
_SCALARS: dict[Any, JsonObject] = {
    str: {"type": "string"},
    int: {"type": "integer", "format": "int64"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    datetime: {"type": "string", "format": "date-time"},
    timedelta: {"type": "string", "format": "duration"},
    bytes: {"type": "string", "format": "byte"},
}


class SchemaKeywords(dict[str, Any]):
    """Further words of a field's schema: ``Annotated[int, checked(minimum=1)]``."""


def checked(**words: Unpack[SchemaWords]) -> SchemaKeywords:
    """Words as schemas spell them: minimum, maxLength, pattern, description, enum, format…

    Raises SchemaError for a word that is none, and for a value that cannot be its.
    """
    for word, value in words.items():
        if fault := keyword_fault(word, value):
            raise SchemaError(fault)
    return SchemaKeywords(words)


def keyed_by(*keys: str) -> SchemaKeywords:
    """A list whose elements are identified by some of their fields, as the wire names them."""
    return SchemaKeywords({"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": [*keys]})


def unique() -> SchemaKeywords:
    """A list of which no two elements are the same."""
    return SchemaKeywords({"x-kubernetes-list-type": "set"})


def atomic() -> SchemaKeywords:
    """A list that is only ever replaced as a whole."""
    return SchemaKeywords({"x-kubernetes-list-type": "atomic"})


@dataclass(frozen=True, slots=True)
class Rule:
    """A validation rule in CEL: ``Rule("self.low <= self.high", "low must not exceed high")``.

    With ``optional_old`` the rule also runs when there is no former value, and sees ``oldSelf`` as
    an optional.
    """

    rule: str
    message: str = ""
    message_expression: str = ""
    field_path: str = ""
    reason: str = ""
    optional_old: bool = False

    def to_wire(self) -> JsonObject:
        words = {
            "rule": self.rule,
            "message": self.message,
            "messageExpression": self.message_expression,
            "fieldPath": self.field_path,
            "reason": self.reason,
            "optionalOldSelf": self.optional_old,
        }
        return {key: value for key, value in words.items() if value}


def rules(*given: Rule) -> Callable[[type[T]], type[T]]:
    """Rules about a dataclass as a whole, written above it."""

    def decorate(cls: type[T]) -> type[T]:
        setattr(cls, _RULES, given)
        return cls

    return decorate


def schema_of(kind: Any) -> JsonObject:
    """The structural schema of a type. Raises SchemaError."""
    return _schema(kind, ())


def object_schema(kind: type) -> JsonObject:
    """The schema of a class. Raises SchemaError."""
    return _schema(kind, ())


@lru_cache(maxsize=1024)
def field_types(kind: type) -> Json:
    return get_type_hints(kind, include_extras=True)


def _schema(kind: Any, inside: tuple[type, ...]) -> JsonObject:
    """``inside``: the classes it is part of. A class inside of itself has no structural schema."""
    origin = get_origin(kind)
    if origin is Annotated:
        return _annotated(kind, inside)
    if origin in (Union, types.UnionType):
        return _union(kind, inside)
    if origin is Literal:
        return _enumeration(list(get_args(kind)))
    if origin is list:
        return {"type": "array", "items": _element(get_args(kind)[0], inside)}
    if origin is dict:
        key, value = get_args(kind)
        if key is not str:
            raise SchemaError(f"{kind!r} has no schema: the keys of maps are texts")
        return {"type": "object", "additionalProperties": _element(value, inside)}
    if kind is Any:
        return {"x-kubernetes-preserve-unknown-fields": True}
    if kind in _SCALARS:
        return dict(_SCALARS[kind])
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return _enumeration([one.value for one in kind])
    if is_model(kind):
        return model_schema(kind)
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        return _object(kind, inside)
    raise SchemaError(f"{kind!r} has no schema: use dataclasses, scalars, lists, dicts or Any")


def _annotated(kind: Any, inside: tuple[type, ...]) -> JsonObject:
    inner, *notes = get_args(kind)
    found = _schema(inner, inside)
    for note in notes:
        if isinstance(note, SchemaKeywords):
            found |= note
    rules = [note.to_wire() for note in notes if isinstance(note, Rule)]
    return _with_rules(found, rules)


def _with_rules(schema: JsonObject, rules: list[JsonObject]) -> JsonObject:
    word = "x-kubernetes-validations"
    return {**schema, word: [*schema.get(word, ()), *rules]} if rules else schema


def _element(kind: Any, inside: tuple[type, ...]) -> JsonObject:
    found = _schema(kind, inside)
    if not is_optional(kind):
        return found
    if "enum" in found:
        found["enum"] = [*found["enum"], None]
    return {**found, "nullable": True}


def _enumeration(values: list[Any]) -> JsonObject:
    kinds = {type(value) for value in values}
    if len(kinds) != 1 or not kinds <= {str, int}:
        raise SchemaError(f"{values!r} has no schema: one kind of texts or numbers can be listed")
    return {**_SCALARS[kinds.pop()], "enum": values}


def _union(kind: Any, inside: tuple[type, ...]) -> JsonObject:
    inner = plain(kind)
    if inner is not kind:
        return _schema(inner, inside)
    if set(get_args(kind)) == {int, str}:
        return {"x-kubernetes-int-or-string": True}
    raise SchemaError(f"{kind!r} has no schema: only `T | None` and `int | str` are unions")


def _object(kind: type, inside: tuple[type, ...]) -> JsonObject:
    if kind in inside:
        raise SchemaError(f"{kind.__name__} has no schema: it is part of itself; use Any there")
    hints = field_types(kind)
    properties: JsonObject = {}
    required: list[str] = []
    for field in dataclasses.fields(kind):
        hint = hints[field.name]
        name = name_on_wire(field.name, hint)
        properties[name] = _schema(hint, (*inside, kind))
        default = _default_of(field)
        if default is MISSING:
            if not is_optional(hint):
                required.append(name)
        elif not is_left_out(default):
            properties[name]["default"] = to_wire(default)
    found: JsonObject = {"type": "object", "properties": properties}
    if required:
        found["required"] = required
    doc = kind.__doc__ or ""
    if doc and not doc.startswith(f"{kind.__name__}("):
        found["description"] = doc.strip()
    return _with_rules(found, [rule.to_wire() for rule in kind.__dict__.get(_RULES, ())])


def _default_of(field: dataclasses.Field[Any]) -> Any:
    if field.default is not MISSING:
        return field.default
    if field.default_factory is not MISSING:
        return typing.cast("Any", field.default_factory)()
    return MISSING
