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
    """Null removes a key, objects merge, everything else replaces; nulls in lists stay."""
    if patch is None:
        raise MalformedPatch("Invalid JSON Patch")
    try:
        return _merge(document, patch)
    except RecursionError as deep:
        raise MalformedPatch("exceeded max depth") from deep


def _merge(document: Any, patch: Any) -> Any:
    if not isinstance(patch, dict):
        return patch
    merged = dict(document) if isinstance(document, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = _merge(merged.get(key), value) if isinstance(value, dict) else value
    return merged
