"""What the patch of a webhook or policy made, checked as an object of its kind. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from proreus.api import go_text
from proreus.api.group_version import GroupVersionKind
from proreus.api.json_types import JsonObject
from proreus.api.status import InternalError, PlainError
from proreus.api.typed import TypeNode
from proreus.api.wire import json
from proreus.server.registry.declared_types import UnreadableType, declared_type, missing_kind
from proreus.server.schema.check import DecodeError, check
from proreus.server.schema.definitions import OBJECT_META, Definitions

Decode = Callable[[Any], tuple[JsonObject, list[str]]]


def typed_object(made: Any, kind: GroupVersionKind, node: TypeNode | None) -> JsonObject:
    """Of the kind, whatever the patch says it is; an object of a custom kind must say it itself.

    Raises InternalError, PlainError.
    """
    try:
        # What operations build, each shallow, may be too deep to be written.
        encoded = json.encode(made)
    except TypeError as deep:
        raise InternalError.of("exceeded max depth") from deep
    if node is not None and node.decode is not None:
        return _custom_object(made, kind, node.decode)
    if not isinstance(made, dict):
        raise InternalError.of(go_text.mistyped(made, f"{kind.version}.{kind.kind}"))
    if node is not None:
        try:
            made = check(node, json.decode(encoded), encoded).value
        except DecodeError as error:
            raise InternalError.of(str(error)) from error
    return {**made, "kind": kind.kind, "apiVersion": kind.api_version}


def _custom_object(made: Any, kind: GroupVersionKind, decode: Decode) -> JsonObject:
    """Without fields that it has not, and without metadata of the wrong type."""
    try:
        declared = declared_type(made)
    except UnreadableType as error:
        raise InternalError.of(str(error)) from error
    if not declared.kind:
        raise InternalError.of(missing_kind(go_text.json_text(_sorted(made))))
    if declared.version.group != kind.group:
        given = f"{declared.version.group}/{declared.version.version}, Kind={declared.kind}"
        why = "is unstructured and is not suitable for converting to"
        raise PlainError(f"{given} {why} {go_text.quoted(kind.api_version)}")
    metadata = made.get("metadata") or {}
    if not isinstance(metadata, dict):
        raise InternalError.of("system metadata was not initialized")
    node = Definitions.load().named(OBJECT_META)
    fitting = {key: value for key, value in metadata.items() if _fits(node, {key: value})}
    found, _ = decode({**made, "metadata": fitting})
    return {**found, "apiVersion": kind.api_version}


def _sorted(value: Any) -> Any:
    """By keys, as Go writes what it decoded without a type."""
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(item) for item in value] if isinstance(value, list) else value


def _fits(node: TypeNode, value: JsonObject) -> bool:
    try:
        check(node, value)
    except DecodeError:
        return False
    return True
