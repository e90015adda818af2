"""Uniqueness in lists that are sets or maps (server.md §9.3). Linear in their length."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from operator import attrgetter
from typing import Any

from proreus.api import field_error
from proreus.api.field_error import FieldError
from proreus.server.custom.schema.descent import inner_values
from proreus.server.custom.schema.structural import Structural

_HAS_UNIQUE_LISTS = attrgetter("has_unique_lists")


def list_violations(value: Any, schema: Structural, path: str = "") -> list[FieldError]:
    """Of a value and everything in it."""
    return list(_violations(value, schema, path)) if schema.has_unique_lists else []


def _violations(value: Any, schema: Structural, path: str) -> Iterator[FieldError]:
    if value.__class__ is list:
        if schema.list_type == "set":
            yield from _doubled(value, path)
        elif schema.list_type == "map":
            yield from _doubled_keys(value, schema.list_map_keys, path)
    for item, child, place in inner_values(value, schema, path, _HAS_UNIQUE_LISTS):
        yield from _violations(item, child, place)


def _doubled(items: list[Any], path: str) -> list[FieldError]:
    """An item is reported at its second occurrence only."""
    times: dict[Any, int] = {}
    found: list[FieldError] = []
    for index, item in enumerate(items):
        known = _identity(item)
        times[known] = times.get(known, 0) + 1
        if times[known] == 2:
            printed = field_error.sorted_keys(item)
            found.append(field_error.duplicate(f"{path}[{index}]", printed))
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
