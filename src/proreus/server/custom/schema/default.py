"""Applies the defaults of a schema, and drops nulls of fields that are not nullable.

Both happen on every write and on reads of objects that are older than their schema. Idempotent.
Only what an apply makes is never decoded, so its nulls stay and are validated.
Defaults can multiply, one for every item of a list; what they add to an object is bounded by what
can be stored, so that an object that is too large anyway is not made first.
"""

from __future__ import annotations

import copy
from contextlib import suppress
from typing import Any

from proreus.server.custom.schema.structural import MISSING, Structural
from proreus.server.storage.interface import VALUE_BYTES_MAX, ValueTooLarge


def default(value: Any, schema: Structural, *, keeps_nulls: bool = False) -> None:
    """Change ``value`` in place, from the outside in: a default may itself have defaults inside.

    ``keeps_nulls``: those without a default stay, and are refused later. Raises ValueTooLarge;
    some defaults are filled in then.
    """
    _Filling(keeps_nulls=keeps_nulls).value(value, schema)


def default_stored(value: Any, schema: Structural) -> None:
    """``default`` of what is read: as many defaults as fit are filled in, rather than none."""
    with suppress(ValueTooLarge):
        default(value, schema)


class _Filling:
    __slots__ = ("_bytes_left", "_keeps_nulls")

    def __init__(self, *, keeps_nulls: bool) -> None:
        self._bytes_left = VALUE_BYTES_MAX
        self._keeps_nulls = keeps_nulls

    def value(self, value: Any, schema: Structural) -> None:
        if value.__class__ is dict:
            self._object(value, schema)
        elif value.__class__ is list and schema.items is not None:
            items = schema.items
            for index, item in enumerate(value):
                if item is None and not items.nullable and items.default is not MISSING:
                    value[index] = item = self._default(items)
                if item.__class__ is dict or item.__class__ is list:
                    self.value(item, items)

    def _object(self, value: dict[str, Any], schema: Structural) -> None:
        for key, child in schema.properties.items():
            if child.default is not MISSING and (
                key not in value or (value[key] is None and not child.nullable)
            ):
                self._bytes_left -= len(key)
                value[key] = self._default(child)
        nulls: list[str] = []
        for key, item in value.items():
            inner = schema.child(key)
            if inner is None:
                continue
            if item is None and not inner.nullable:
                if inner.default is MISSING:
                    if not self._keeps_nulls:
                        nulls.append(key)
                    continue
                value[key] = item = self._default(inner)  # of a map's values
            if item.__class__ is dict or item.__class__ is list:
                self.value(item, inner)
        for key in nulls:
            del value[key]

    def _default(self, schema: Structural) -> Any:
        self._bytes_left -= schema.default_bytes
        if self._bytes_left < 0:
            raise ValueTooLarge(f"the defaults take more than {VALUE_BYTES_MAX} bytes")
        return copy.deepcopy(schema.default)
