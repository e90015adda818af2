"""The directives a strategic merge patch may carry beside its values."""

from __future__ import annotations

from typing import Any

from proreus.api.patch.errors import MalformedPatch
from proreus.api.wire import json

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


def is_directed(value: Any) -> bool:
    """Whether a value is an instruction: ``$patch`` says what to do."""
    return isinstance(value, dict) and PATCH in value


def without_directives(value: Any) -> Any:
    """What a patch value means where there is nothing to merge with: no instructions, no nulls.

    Other directives stay, as fields that no type knows.
    """
    return value if _has_no_directive_or_null(value) else _without_directives(value)


def _has_no_directive_or_null(value: Any) -> bool:
    """Searched in its JSON, which is made in C; text that only looks like one counts, too."""
    try:
        text = json.encode(value)
    except json.JSONEncodeError:
        return False  # too deep to be written
    return b"null" not in text and b"$patch" not in text


def _without_directives(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            key: _without_directives(child) if isinstance(child, dict | list) else child
            for key, child in value.items()
            if child is not None and not is_directed(child)
        }
    if isinstance(value, list):
        return [_without_directives(item) for item in value if not is_directed(item)]
    return value
