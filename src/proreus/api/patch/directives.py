"""The directives a strategic merge patch may carry beside its values."""

from __future__ import annotations

from typing import Any

from proreus.api.patch.errors import MalformedPatch

PATCH = "$patch"
RETAIN_KEYS = "$retainKeys"
SET_ORDER = "$setElementOrder"
DELETE_LIST = "$deleteFromPrimitiveList"

_BAD_FORMAT = {
    SET_ORDER: "invalid patch format of setElementOrder list",
    DELETE_LIST: "invalid patch format of primitive list",
}


def field_of_directive(key: str, prefix: str) -> str:
    """The field a directive such as ``$setElementOrder/containers`` is about."""
    directive, slash, field = key.partition("/")
    if not slash or directive != prefix:
        raise MalformedPatch(_BAD_FORMAT[prefix])
    return field


def without_directives(value: Any) -> Any:
    """What a patch value means where there is nothing to merge with: no directives, no nulls."""
    if isinstance(value, dict):
        return {
            key: without_directives(child)
            for key, child in value.items()
            if child is not None and not _is_directive(key)
        }
    if isinstance(value, list):
        return [without_directives(item) for item in value if not _is_deletion(item)]
    return value


def _is_directive(key: str) -> bool:
    return key in (PATCH, RETAIN_KEYS) or key.startswith((SET_ORDER, DELETE_LIST))


def _is_deletion(item: Any) -> bool:
    # {$patch: replace} stands for itself only, as the deletion does.
    return isinstance(item, dict) and item.get(PATCH) in ("delete", "replace")
