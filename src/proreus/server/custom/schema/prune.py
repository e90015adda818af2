"""Pruning of fields that a schema does not declare; reports their paths.

The value is changed in place: it was decoded for this request. Paths are in order of the alphabet,
as Kubernetes reports them.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from proreus.server.custom.schema.structural import TYPE_FIELDS, Structural

_EXACT_MAX = 2**53  # below it a float has all digits of a whole number


def prune(value: dict[str, Any], schema: Structural) -> list[str]:
    """Prune a whole object; returns the paths of the fields that went."""
    gone: list[str] = []
    _object(value, schema, "", gone, is_resource=True, keeps=schema.preserves_unknown)
    return sorted(gone)


def would_prune(value: Any, schema: Structural) -> bool:
    """Whether a part of an object has fields its schema does not declare."""
    import copy

    gone: list[str] = []
    _prune(copy.deepcopy(value), schema, "", gone)
    return bool(gone)


def _prune(
    value: Any, schema: Structural | None, path: str, gone: list[str], *, keeps: bool = False
) -> None:
    """``keeps``: what is not declared stays, because the list around it says so."""
    keeps = keeps or (schema is not None and schema.preserves_unknown)
    if value.__class__ is dict:
        is_resource = schema is not None and schema.is_embedded
        _object(value, schema, path, gone, is_resource=is_resource, keeps=keeps)
    elif value.__class__ is list:
        items = schema.items if schema is not None else None
        if keeps and items is None:
            return
        for index, item in enumerate(value):
            if item.__class__ is dict or item.__class__ is list:
                _prune(item, items, f"{path}[{index}]", gone, keeps=keeps)


def _object(
    value: dict[str, Any],
    schema: Structural | None,
    path: str,
    gone: list[str],
    *,
    is_resource: bool,
    keeps: bool,
) -> None:
    dropped: list[str] = []
    values = schema.values if schema is not None else None
    for key, item in value.items():
        if is_resource and key in TYPE_FIELDS:
            continue
        child = schema.properties.get(key) if schema is not None else None
        if child is None:
            if values is None:
                if not keeps:
                    dropped.append(key)
                continue
            # ``additionalProperties: true`` takes any key, but says nothing of what is below it.
            child = values if isinstance(values, Structural) else None
        if item.__class__ is dict or item.__class__ is list:
            _prune(item, child, f"{path}.{key}" if path else key, gone)
    for key in dropped:
        del value[key]
        gone.append(f"{path}.{key}" if path else key)


def with_plain_numbers(value: Any) -> Any:
    """Whole numbers without a fraction, as Go writes them: 2.0 is stored as 2.

    What fits no signed 64 bits is a float to Go, and has the digits of one.
    """
    match value:
        case dict():
            return {key: with_plain_numbers(item) for key, item in value.items()}
        case list():
            return [with_plain_numbers(item) for item in value]
        case float() if value.is_integer():
            return _whole(value)
        case int() if value >= 2**63:
            return _whole(float(value))
        case _:
            return value


def _whole(value: float) -> int | float:
    if abs(value) < _EXACT_MAX:
        return int(value)
    shortest = int(Decimal(repr(value)))
    return shortest if -(2**63) <= shortest < 2**64 else value
