"""The keywords of structural schemas, and the values each one takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, TypedDict


class SchemaError(TypeError):
    """A type that has no schema."""


class SchemaWords(TypedDict, total=False):
    """What ``checked`` takes, by keyword."""

    title: str
    description: str
    format: str
    type: str
    pattern: str
    nullable: bool
    exclusiveMinimum: bool
    exclusiveMaximum: bool
    uniqueItems: bool
    minimum: float
    maximum: float
    multipleOf: float
    minLength: int
    maxLength: int
    minItems: int
    maxItems: int
    minProperties: int
    maxProperties: int
    enum: Sequence[Any]
    required: Sequence[str]
    allOf: Sequence[Any]
    anyOf: Sequence[Any]
    oneOf: Sequence[Any]
    items: dict[str, Any]
    properties: dict[str, Any]
    externalDocs: dict[str, Any]
    default: Any
    example: Any
    additionalProperties: Any


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_list(value: Any) -> bool:
    return isinstance(value, list | tuple) and bool(value)


def _is_schema(value: Any) -> bool:
    return isinstance(value, dict)


def _is_anything(_: Any) -> bool:
    return True


_KEYWORDS: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    **dict.fromkeys(("title", "description", "format", "type", "pattern"), (_is_text, "a text")),
    **dict.fromkeys(
        ("nullable", "exclusiveMinimum", "exclusiveMaximum", "uniqueItems"),
        (_is_flag, "True or False"),
    ),
    **dict.fromkeys(("minimum", "maximum", "multipleOf"), (_is_number, "a number")),
    **dict.fromkeys(
        ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"),
        (_is_count, "a whole number from 0 on"),
    ),
    **dict.fromkeys(
        ("enum", "required", "allOf", "anyOf", "oneOf"), (_is_list, "a list with something in it")
    ),
    **dict.fromkeys(("items", "properties", "not", "externalDocs"), (_is_schema, "a dict")),
    **dict.fromkeys(("default", "example", "additionalProperties"), (_is_anything, "")),
}
_BY_LETTERS = {word.lower(): word for word in _KEYWORDS}


def keyword_fault(word: str, value: Any) -> str:
    """Why a word and its value cannot be part of a schema; "" if they can."""
    if word.startswith("x-kubernetes-"):
        return ""
    if word not in _KEYWORDS:
        close = _closest(word)
        return f"{word!r} is no word of schemas" + (f"; did you mean {close!r}?" if close else "")
    is_right, wanted = _KEYWORDS[word]
    return "" if is_right(value) else f"{word} is {wanted}, not {value!r}"


def _closest(word: str) -> str:
    letters = word.replace("_", "").replace("-", "").lower()
    found = get_close_matches(letters, _BY_LETTERS, n=1)
    return _BY_LETTERS[found[0]] if found else ""
