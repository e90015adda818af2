"""Migrates field ownership that is older than its schema, where lists or maps became atomic.

A list or map that became atomic has no parts any more, so no manager could own them again or give
them up. What became granular is read as if it had always been. Kubernetes does the same on writes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from proreus.api.group_version import GroupVersion
from proreus.api.json_types import JsonObject
from proreus.server.custom.schema.structural import Structural

_WHOLE: Mapping[str, Any] = {}
_ITSELF = "."


def renew_owners(obj: JsonObject, schemas: Mapping[str, Structural]) -> None:
    """Change ``metadata.managedFields`` in place; each entry in its own version."""
    for entry in obj["metadata"].get("managedFields") or ():
        fields = entry.get("fieldsV1")
        schema = schemas.get(GroupVersion.parse(str(entry.get("apiVersion") or "")).version)
        if schema is not None and isinstance(fields, dict):
            entry["fieldsV1"] = _renewed(fields, schema)


def _renewed(tree: Mapping[str, Any], schema: Structural) -> dict[str, Any]:
    return {step: _below(step, sub, schema) for step, sub in tree.items()}


def _below(step: str, sub: Any, schema: Structural) -> Any:
    child = schema.child(step[2:]) if step.startswith("f:") else schema.items
    if step == _ITSELF or child is None or not isinstance(sub, dict) or not sub:
        return sub
    return _WHOLE if _is_whole(child) else _renewed(sub, child)


def _is_whole(schema: Structural) -> bool:
    if schema.type == "array":
        return schema.list_type in ("", "atomic")
    return schema.is_atomic_map
