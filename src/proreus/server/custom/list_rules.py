"""Lists that are sets or maps have no item twice (spec/server §9.3). Linear in their length."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from proreus.api import field_error
from proreus.api.field_error import FieldError
from proreus.server.custom.structural import Structural


def list_violations(value: Any, schema: Structural, path: str = "") -> list[FieldError]:
    """Of a value and everything in it."""
    found: list[FieldError] = []
    if schema.has_unique_lists:
        _walk(value, schema, path, found)
    return found


def _walk(value: Any, schema: Structural, path: str, found: list[FieldError]) -> None:
    if value.__class__ is dict:
        for key in sorted(value):
            child = schema.properties.get(key)
            place = f"{path}.{key}" if path else key
            if child is None and isinstance(schema.values, Structural):
                child, place = schema.values, f"{path}[{key}]"
            if child is not None and child.has_unique_lists:
                _walk(value[key], child, place, found)
    elif value.__class__ is list:
        if schema.list_type == "set":
            found += _doubled(value, path)
        elif schema.list_type == "map":
            found += _doubled_keys(value, schema.list_map_keys, path)
        if schema.items is not None and schema.items.has_unique_lists:
            for index, item in enumerate(value):
                _walk(item, schema.items, f"{path}[{index}]", found)


def _doubled(items: list[Any], path: str) -> list[FieldError]:
    """An item is told where it comes for the second time, and not again."""
    times: dict[Any, int] = {}
    found: list[FieldError] = []
    for index, item in enumerate(items):
        known = _identity(item)
        times[known] = times.get(known, 0) + 1
        if times[known] == 2:
            found.append(field_error.duplicate(f"{path}[{index}]", item))
    return found


def _identity(item: Any) -> Any:
    match item:
        case dict():
            return frozenset((key, _identity(value)) for key, value in item.items())
        case list():
            return tuple(_identity(value) for value in item)
        case _:
            return item.__class__, item


def _doubled_keys(items: list[Any], keys: tuple[str, ...], path: str) -> list[FieldError]:
    for index, item in enumerate(items):
        if item is not None and not isinstance(item, dict):
            text = "must be an object for an array of list-type map"
            return [field_error.invalid(f"{path}[{index}]", item, text)]
    return _doubled([_key(item or {}, keys) for item in items], path)


def _key(item: Mapping[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    return {key: item[key] for key in keys if key in item}
