"""What is left of a strategic merge patch once it was applied: what errors about the result quote.

Kubernetes takes out of a patch what it has settled: directives, lists that were put in order, and
whatever means nothing where there was nothing to merge with. Made only where something is wrong.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from proreus.api.json_types import JsonObject
from proreus.api.patch.directives import (
    DELETE_LIST,
    PATCH,
    RETAIN_KEYS,
    SET_ORDER,
    is_directed,
)
from proreus.api.typed import TypeNode


def rest_of(original: Mapping[str, Any], patch: JsonObject, node: TypeNode | None) -> JsonObject:
    """The rest of a patch that could be applied to ``original``."""
    if PATCH in patch:
        is_whole = patch[PATCH] == "replace"
        return {key: value for key, value in patch.items() if key != PATCH or not is_whole}
    kept = patch.get(RETAIN_KEYS, original)
    original = {key: value for key, value in original.items() if key in kept}
    orders = [key for key in patch if key.startswith(SET_ORDER)]
    settled = {RETAIN_KEYS, *orders, *(key.partition("/")[2] for key in orders)}
    return {
        key: value
        if key.startswith(DELETE_LIST)
        else _rest_of_value(original.get(key), value, node.field_of(key) if node else None)
        for key, value in patch.items()
        if key not in settled
    }


def _rest_of_value(original: Any, value: Any, field: TypeNode | None) -> Any:
    strategies = field.patch_strategies if field is not None else frozenset()
    if isinstance(original, dict) and isinstance(value, dict):
        return value if "replace" in strategies else rest_of(original, value, field)
    if isinstance(original, list) and isinstance(value, list):
        if field is None or "merge" not in strategies or not field.patch_merge_key:
            return value
        return _rest_of_list(original, value, field)
    value = _without_nulls(value)
    if isinstance(value, list):
        return [item if is_directed(item) else _without_directed(item) for item in value]
    return value if is_directed(value) else _without_directed(value)


def _rest_of_list(original: list[Any], patch: list[Any], field: TypeNode) -> list[Any]:
    key = field.patch_merge_key
    known = {str(item.get(key)): item for item in original if isinstance(item, dict)}
    element = field.element() if field.element else None

    def rest(item: Any) -> Any:
        if not isinstance(item, dict) or is_directed(item):
            return item
        found = known.get(str(item.get(key)))
        return item if found is None else rest_of(found, item, element)

    return [rest(item) for item in patch]


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    return [_without_nulls(item) for item in value] if isinstance(value, list) else value


def _without_directed(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_directed(v) for key, v in value.items() if not is_directed(v)}
    if isinstance(value, list):
        return [_without_directed(item) for item in value if not is_directed(item)]
    return value
