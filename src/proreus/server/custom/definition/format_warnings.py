"""Warnings of formats in a definition's schemas that say nothing of the values they stand at."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from proreus.api.json_types import JsonObject
from proreus.server.custom.schema.formats import is_known_of

_ONE = ("items", "not", "additionalProperties", "additionalItems")
_SEVERAL = ("allOf", "anyOf", "oneOf")
_BY_NAME = ("properties", "patternProperties", "definitions", "dependencies")


def format_warnings(obj: JsonObject) -> list[str]:
    return [f'unrecognized format "{form}"' for form in _odd_formats(obj)]


def new_format_warnings(new: JsonObject, old: JsonObject) -> list[str]:
    """Of those that the definition did not have before."""
    if new["spec"] == old["spec"]:
        return []
    known = _odd_formats(old)
    return [f'unrecognized format "{form}"' for form in _odd_formats(new) if form not in known]


def _odd_formats(obj: JsonObject) -> dict[str, None]:
    return {
        form: None
        for version in obj["spec"].get("versions") or ()
        for form, kind in _formats((version.get("schema") or {}).get("openAPIV3Schema"))
        if not is_known_of(form, kind)
    }


def _formats(schema: Any) -> Iterator[tuple[str, str]]:
    """Those of a schema and of all there is in it, with the types they stand at."""
    waiting: list[Any] = [schema]
    while waiting:
        one = waiting.pop()
        if isinstance(one, list):
            waiting += one
        if not isinstance(one, dict):
            continue
        if form := one.get("format"):
            yield form, one.get("type") or ""
        waiting += [one.get(word) for word in _ONE + _SEVERAL]
        for word in _BY_NAME:
            waiting += (one.get(word) or {}).values()
