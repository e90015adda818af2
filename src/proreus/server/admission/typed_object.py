"""What the patch of a webhook or policy made, checked as an object of its kind. Pure."""

from __future__ import annotations

from typing import Any

from proreus.api import go_text
from proreus.api.group_version import GroupVersionKind
from proreus.api.json_types import JsonObject
from proreus.api.status import InternalError
from proreus.api.typed import TypeNode
from proreus.api.wire import json
from proreus.server.schema.check import DecodeError, check


def typed_object(made: Any, kind: GroupVersionKind, node: TypeNode | None) -> JsonObject:
    """Of the kind, whatever the patch says it is. Raises InternalError."""
    try:
        # What operations build, each shallow, may be too deep to be written.
        encoded = json.encode(made)
    except TypeError as deep:
        raise InternalError.of("exceeded max depth") from deep
    if not isinstance(made, dict):
        raise InternalError.of(go_text.mistyped(made, f"{kind.version}.{kind.kind}"))
    if node is not None:
        try:
            made = check(node, json.decode(encoded), encoded).value
        except DecodeError as error:
            raise InternalError.of(str(error)) from error
    return {**made, "kind": kind.kind, "apiVersion": kind.api_version}
