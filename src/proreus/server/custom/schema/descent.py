"""One step into a value: what is directly in it, with its schema and its path."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from proreus.server.custom.schema.structural import Structural


def inner_values(
    value: Any, schema: Structural, path: str, matters: Callable[[Structural], bool]
) -> Iterator[tuple[Any, Structural, str]]:
    """In the order of keys; those that have no schema, or none that matters, are left out."""
    if value.__class__ is dict:
        for key in sorted(value):
            child = schema.properties.get(key)
            place = f"{path}.{key}" if path else key
            if child is None and isinstance(schema.values, Structural):
                child, place = schema.values, f"{path}[{key}]"
            if child is not None and matters(child):
                yield value[key], child, place
    elif value.__class__ is list and schema.items is not None and matters(schema.items):
        for index, item in enumerate(value):
            yield item, schema.items, f"{path}[{index}]"
