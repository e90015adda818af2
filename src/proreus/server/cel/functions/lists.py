"""CEL's own extension for lists: sorted, sliced, flattened."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from proreus.server.cel.functions.operators import type_name
from proreus.server.cel.values import NONE, EvaluationError, Optional, equal

_RANGE_MAX = 10_000_000
_SORTABLE = frozenset(
    {"int", "uint", "double", "bool", "string", "bytes",
     "google.protobuf.Timestamp", "google.protobuf.Duration"}
)  # fmt: skip


def _slice(values: list[Any], start: int, end: int) -> list[Any]:
    call = f"cannot slice({start}, {end})"
    if start < 0 or end < 0:
        raise EvaluationError(f"{call}, negative indexes not supported")
    if start > end:
        raise EvaluationError(f"{call}, start index must be less than or equal to end index")
    if len(values) < end:
        raise EvaluationError(f"{call}, list is length {len(values)}")
    return list(values[start:end])


def _flatten(values: list[Any], depth: int = 1) -> list[Any]:
    if depth < 0:
        raise EvaluationError("level must be non-negative")
    found: list[Any] = []
    for value in values:
        if isinstance(value, list) and depth:
            found += _flatten(value, depth - 1)
        else:
            found.append(value)
    return found


def _range(size: int) -> list[int]:
    if size < 0:
        raise EvaluationError(f"lists.range: size must be non-negative, got {size}")
    if size > _RANGE_MAX:
        raise EvaluationError(f"lists.range: size {size} exceeds maximum allowed ({_RANGE_MAX})")
    return list(range(size))


def _distinct(values: list[Any]) -> list[Any]:
    found: list[Any] = []
    for value in values:
        if not any(equal(value, other) for other in found):
            found.append(value)
    return found


def _reverse(values: list[Any]) -> list[Any]:
    if not isinstance(values, list):
        raise TypeError  # texts are not reversed in Kubernetes' edition of the language
    return values[::-1]


def _sort(values: list[Any]) -> list[Any]:
    return _sort_by(values, values)


def _sort_by(values: list[Any], keys: list[Any]) -> list[Any]:
    kinds = {type_name(key) for key in keys}
    if not kinds <= _SORTABLE:
        raise EvaluationError("list elements must be comparable")
    if len(kinds) > 1:
        raise EvaluationError("list elements must have the same type")
    order = sorted(range(len(keys)), key=lambda at: keys[at])
    return [values[at] for at in order]


TABLE: Mapping[str, Callable[..., Any]] = {
    "slice": _slice,
    "flatten": _flatten,
    "lists.range": _range,
    "distinct": _distinct,
    "reverse": _reverse,
    "sort": _sort,
    "@sortByAssociatedKeys": _sort_by,
    "first": lambda values: Optional(True, values[0]) if values else NONE,
    "last": lambda values: Optional(True, values[-1]) if values else NONE,
}
