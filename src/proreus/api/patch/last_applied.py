"""The last-applied annotation of client-side apply, when server-side apply takes over from it.

A manager called ``kubectl`` may take over what the annotation shows that it had set itself, and
keeps the annotation in step as long as it is there (server.md §6.5).
"""

from __future__ import annotations

from proreus.api.json_types import JsonObject
from proreus.api.patch import field_sets, typed_check
from proreus.api.patch.field_sets import Tree
from proreus.api.patch.field_walk import compare, fields_of
from proreus.api.typed import TypeNode
from proreus.api.wire import json

ANNOTATION = "kubectl.kubernetes.io/last-applied-configuration"
KUBECTL = "kubectl"
MAX_ANNOTATIONS_BYTES = 256 * 1024
# Go's JSON encoder writes these so that the text can stand in HTML.
_ESCAPED = str.maketrans({c: f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"})


def fields_from_last_applied(live: JsonObject, node: TypeNode | None, api_version: str) -> Tree:
    """The fields that client-side apply set and that are still as it set them.

    None if the annotation is of another version, or is not of this type.
    """
    text = _annotations(live).get(ANNOTATION)
    if not isinstance(text, str) or not text:
        return {}
    try:
        applied = json.decode(text)
    except json.JSONDecodeError:
        return {}
    if not isinstance(applied, dict) or applied.get("apiVersion") != api_version:
        return {}
    if not typed_check.fits(applied, node):
        return {}
    fields = fields_of(applied, node)
    since = compare(applied, live, node)
    for changed in (since.modified, since.added, since.removed):
        fields = field_sets.difference(fields, changed)
    return fields


def with_last_applied(result: JsonObject, applied: JsonObject) -> JsonObject:
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


def _text(applied: JsonObject) -> str:
    metadata = dict(applied.get("metadata") or {})
    if isinstance(annotations := metadata.get("annotations"), dict):
        metadata["annotations"] = {k: v for k, v in annotations.items() if k != ANNOTATION}
    text = json.canonical({**applied, "metadata": metadata}).decode()
    return text.translate(_ESCAPED) + "\n"


def _annotations(obj: JsonObject) -> JsonObject:
    found = (obj.get("metadata") or {}).get("annotations")
    return found if isinstance(found, dict) else {}
