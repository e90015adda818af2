"""Filling in a schema's defaults, and dropping nulls where null means nothing.

Both happen on every write and on reads of objects that are older than their schema. Idempotent.
"""

from __future__ import annotations

import copy
from typing import Any

from proreus.server.custom.structural import MISSING, Structural


def default(value: Any, schema: Structural) -> None:
    """Change ``value`` in place, from the outside in: a default may itself have defaults inside."""
    if value.__class__ is dict:
        _object(value, schema)
    elif value.__class__ is list and schema.items is not None:
        items = schema.items
        for index, item in enumerate(value):
            if item is None and not items.nullable and items.default is not MISSING:
                value[index] = item = copy.deepcopy(items.default)
            if item.__class__ is dict or item.__class__ is list:
                default(item, items)


def _object(value: dict[str, Any], schema: Structural) -> None:
    for key, child in schema.properties.items():
        if child.default is not MISSING and (
            key not in value or (value[key] is None and not child.nullable)
        ):
            value[key] = copy.deepcopy(child.default)
    nulls: list[str] = []
    for key, item in value.items():
        inner = schema.child(key)
        if inner is None:
            continue
        if item is None and not inner.nullable:
            if inner.default is MISSING:
                nulls.append(key)
                continue
            value[key] = item = copy.deepcopy(inner.default)  # of a map's values
        if item.__class__ is dict or item.__class__ is list:
            default(item, inner)
    for key in nulls:
        del value[key]
