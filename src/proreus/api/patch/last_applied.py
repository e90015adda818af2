"""kubectl's annotation of client-side apply, where server-side apply takes over from it.

A manager called ``kubectl`` may take over what the annotation shows that it had set itself, and
keeps the annotation in step as long as it is there (spec/server §6.5).
"""

from __future__ import annotations

from typing import Any

from proreus.api.patch import field_sets
from proreus.api.patch.field_sets import Tree
from proreus.api.patch.field_walk import compare, fields_of
from proreus.api.typed import TypeNode
from proreus.api.wire import json

ANNOTATION = "kubectl.kubernetes.io/last-applied-configuration"
KUBECTL = "kubectl"
MAX_ANNOTATIONS_BYTES = 256 * 1024


def taken_over(live: dict[str, Any], node: TypeNode | None) -> Tree:
    """The fields that client-side apply set and that are still as it set them."""
    text = _annotations(live).get(ANNOTATION)
    if not isinstance(text, str) or not text:
        return {}
    try:
        applied = json.decode(text)
    except json.JSONDecodeError:
        return {}
    if not isinstance(applied, dict):
        return {}
    fields = fields_of(applied, node)
    since = compare(applied, live, node)
    for changed in (since.modified, since.added, since.removed):
        fields = field_sets.difference(fields, changed)
    return fields


def kept_in_step(result: dict[str, Any], applied: dict[str, Any]) -> dict[str, Any]:
    """``result`` with the annotation telling of ``applied``, if it has the annotation."""
    annotations = _annotations(result)
    if not annotations.get(ANNOTATION):
        return result
    updated = {**annotations, ANNOTATION: _text(applied)}
    if sum(len(k.encode()) + len(str(v).encode()) for k, v in updated.items()) > (
        MAX_ANNOTATIONS_BYTES
    ):
        del updated[ANNOTATION]
    return {**result, "metadata": {**result["metadata"], "annotations": updated}}


def _text(applied: dict[str, Any]) -> str:
    metadata = dict(applied.get("metadata") or {})
    if isinstance(annotations := metadata.get("annotations"), dict):
        metadata["annotations"] = {k: v for k, v in annotations.items() if k != ANNOTATION}
    return json.encode(_sorted({**applied, "metadata": metadata})).decode() + "\n"


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    if isinstance(value, list):
        return [_sorted(item) for item in value]
    return value


def _annotations(obj: dict[str, Any]) -> dict[str, Any]:
    found = (obj.get("metadata") or {}).get("annotations")
    return found if isinstance(found, dict) else {}
