"""Metadata is typed wherever it stands: at the root of an object and in what is embedded in it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from proreus.api import field_error
from proreus.api.json_types import JsonObject
from proreus.server.custom.schema.structural import Structural
from proreus.server.schema.check import DecodeError, check
from proreus.server.schema.definitions import OBJECT_META, Definitions

_POINTERS = ("deletionGracePeriodSeconds",)


class BadMetadata(DecodeError):
    """An embedded resource whose type or metadata is of the wrong type.

    ``place`` is where, ``reason`` says the value and why.
    """

    def __init__(self, place: str, reason: str) -> None:
        super().__init__(f"{place}: {reason}")
        self.place = place
        self.reason = reason


def coerce(obj: JsonObject, unknown: list[str], at: str = "metadata") -> None:
    """Keeps of an object's own metadata what metadata has. Raises DecodeError."""
    meta = obj.get("metadata")
    if meta is None:
        obj.pop("metadata", None)
        return
    node = Definitions.load().named(OBJECT_META)
    try:
        checked = check(node, meta)
    except DecodeError as error:
        raise DecodeError(
            str(error).replace("struct field .", "struct field ObjectMeta.")
        ) from error
    unknown += [f"{at}.{field}" for field in checked.unknown_fields]
    # Go writes no field that is empty, but a zero that is a pointer's.
    obj["metadata"] = {k: v for k, v in checked.value.items() if v or (v == 0 and k in _POINTERS)}


def coerce_resource(value: JsonObject, path: str, unknown: list[str]) -> None:
    """The same for an embedded resource, and its type is text. Raises BadMetadata."""
    for field in ("apiVersion", "kind"):
        given = value.get(field, "")
        if not isinstance(given, str):
            why = f"Invalid value: {field_error.quote(given)}: must be a string"
            raise BadMetadata(f"{path}.{field}", why)
    if "metadata" in value and value["metadata"] is None:
        value["metadata"] = {}
    at = f"{path}.metadata"
    try:
        coerce(value, unknown, at)
    except DecodeError as error:
        why = f"Invalid value: {field_error.quote(value['metadata'])}: {error}"
        raise BadMetadata(at, why) from error


def coerce_embedded(value: Any, schema: Structural, path: str, unknown: list[str]) -> None:
    """All that is embedded in a value, but not the value itself. Raises BadMetadata."""
    for item, child, place in _inner(value, schema, path):
        if child.is_embedded and isinstance(item, dict):
            coerce_resource(item, place, unknown)
        coerce_embedded(item, child, place, unknown)


def _inner(value: Any, schema: Structural, path: str) -> Iterator[tuple[Any, Structural, str]]:
    if isinstance(value, dict):
        for key, item in value.items():
            child = schema.child(key)
            if child is not None and isinstance(item, dict | list):
                yield item, child, f"{path}.{key}" if path else key
    elif isinstance(value, list) and schema.items is not None:
        for index, item in enumerate(value):
            yield item, schema.items, f"{path}[{index}]"
