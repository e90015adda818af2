"""Merge patch (RFC 7386) as Kubernetes applies it.

Neither argument is changed; the result shares what the patch does not touch.
"""

from __future__ import annotations

from typing import Any

from proreus.api import go_text
from proreus.api.patch.errors import MalformedPatch


def check_merge_patch(patch: Any) -> None:
    """Refuse a patch that is no object; done only where fields are validated (Strict, Warn)."""
    if patch is not None and not isinstance(patch, dict):
        kind = go_text.json_kind(patch)
        raise MalformedPatch(
            f"error decoding patch: json: cannot unmarshal {kind} "
            "into Go value of type map[string]interface {}"
        )


def apply_merge_patch(document: Any, patch: Any) -> Any:
    """Null removes a key, objects merge, everything else replaces; nulls in lists stay, but those
    of objects within lists go."""
    if patch is None or not isinstance(patch, dict | list):
        raise MalformedPatch("Invalid JSON Patch")
    try:
        return _merge(document, patch)
    except RecursionError as deep:
        raise MalformedPatch("exceeded max depth") from deep


def _merge(document: Any, patch: Any) -> Any:
    if isinstance(patch, list):
        return _without_nulls(patch)
    if not isinstance(patch, dict):
        return patch
    merged = dict(document) if isinstance(document, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            is_whole = value.__class__ is not dict and value.__class__ is not list
            merged[key] = value if is_whole else _merge(merged.get(key), value)
    return merged


def _without_nulls(items: list[Any]) -> list[Any]:
    return [_merge(None, item) if isinstance(item, dict | list) else item for item in items]
