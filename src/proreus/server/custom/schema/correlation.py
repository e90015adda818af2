"""Correlation of list items with those of the old list, for transition rules and ratcheting."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from proreus.api import field_error
from proreus.server.custom.schema.structural import MISSING, Structural

OldItem = Callable[[int, Any], Any]  # (index, item) → the old item, or MISSING


def correlate_items(schema: Structural, old: Any, *, by_place: bool) -> OldItem:
    """Items of a map-type list correlate by their keys; ``by_place``: those of a list without
    a type by their index."""
    if isinstance(old, list) and schema.list_type == "map":
        known = {_key(item, schema): item for item in old if isinstance(item, dict)}
        return lambda _, item: (
            known.get(_key(item, schema), MISSING) if isinstance(item, dict) else MISSING
        )
    if isinstance(old, list) and not schema.list_type and by_place:
        return lambda index, _: _at(old, index)
    return lambda _, item: MISSING


def _at(items: list[Any], index: int) -> Any:
    return MISSING if index >= len(items) or items[index] is None else items[index]


def _key(item: Mapping[str, Any], schema: Structural) -> str:
    return field_error.quote([item.get(name) for name in schema.list_map_keys])
