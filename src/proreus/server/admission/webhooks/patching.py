"""The object that a webhook's patch makes, as one of its kind. Pure."""

from __future__ import annotations

from proreus.api import go_text
from proreus.api.group_version import GroupVersionKind
from proreus.api.json_types import JsonObject
from proreus.api.patch.errors import PatchError
from proreus.api.patch.json_patch import apply_json_patch
from proreus.api.status import InternalError
from proreus.api.typed import TypeNode
from proreus.api.wire import json
from proreus.api.wire.json_syntax import explain
from proreus.server.admission.typed_object import typed_object

OPERATIONS_MAX = 10_000


class UndecodableOperations(Exception):
    """The patch is no list of operations."""


def read_operations(patch: bytes) -> list[JsonObject]:
    """Raises UndecodableOperations."""
    try:
        document = json.decode(patch)
    except ValueError as error:
        raise UndecodableOperations(explain(patch) or str(error)) from error
    if document is None:
        return []
    if not isinstance(document, list):
        raise UndecodableOperations(go_text.mistyped(document, "jsonpatch.Patch"))
    for operation in document:
        if not isinstance(operation, dict):
            raise UndecodableOperations(go_text.mistyped(operation, "jsonpatch.Operation"))
        for member in ("op", "path", "from"):
            if not isinstance(operation.get(member) or "", str):
                raise UndecodableOperations(go_text.mistyped(operation[member], "string"))
    if len(document) > OPERATIONS_MAX:
        count = len(document)
        raise UndecodableOperations(f"{count} operations, at most {OPERATIONS_MAX} are allowed")
    return document


def patched_object(
    obj: JsonObject, operations: list[JsonObject], kind: GroupVersionKind, node: TypeNode | None
) -> JsonObject:
    """Of the kind, whatever the patch says it is. Raises InternalError."""
    try:
        made = apply_json_patch(obj, operations)
    except PatchError as error:
        raise InternalError.of(str(error)) from error
    return typed_object(made, kind, node)
