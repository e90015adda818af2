"""What the mutations of a policy make of an object. Pure.

An ``ApplyConfiguration`` is merged as server-side apply merges, but nobody becomes the owner of
anything; a ``JSONPatch`` is applied as it is, and not at all if one of its tests fails.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from datetime import datetime, timedelta
from math import isfinite
from typing import Any

from proreus.api import go_text
from proreus.api.group_version import GroupVersionKind
from proreus.api.json_types import JsonObject
from proreus.api.patch import typed_check
from proreus.api.patch.errors import RejectedPatch
from proreus.api.patch.json_patch import FailedTest, apply_json_patch
from proreus.api.patch.typed_merge import merge
from proreus.api.status import InternalError
from proreus.api.typed import ListType, Shape, TypeNode
from proreus.server.admission.typed_object import typed_object
from proreus.server.cel.functions.operators import to_string, type_name
from proreus.server.cel.initializers import PATCH, MadeObject, misnamed
from proreus.server.cel.values import Optional
from proreus.server.schema.check import unknown_fields

_SAFE = 2**53 - 1  # numbers beyond are texts in JSON, as protobuf has them


class Unapplicable(Exception):
    """A mutation that cannot be followed; ``str(error)`` is what Kubernetes says of it."""


def applied(made: Any, obj: JsonObject, node: TypeNode | None) -> JsonObject:
    """``obj`` with what an expression made merged into it. Raises Unapplicable."""
    if not isinstance(made, MadeObject):
        raise Unapplicable("unsupported return type from ApplyConfiguration expression")
    _check_names(made)
    identity = {key: obj[key] for key in ("apiVersion", "kind") if key in obj}
    wanted = {**plain(made), **identity}
    if not typed_check.fits(wanted, node):
        found = typed_check.joined(list(typed_check.faults(wanted, node)))
        raise _failed(f"failed to convert patch object to typed object: {found}")
    if replaced := list(_atomics(wanted, node, "")):
        what = "may not mutate atomic arrays, maps or structs"
        raise _failed(f"invalid ApplyConfiguration: {what}: {', '.join(replaced)}")
    merged: JsonObject = merge(obj, wanted, node)
    return merged


def patched(
    made: Any, obj: JsonObject, kind: GroupVersionKind, node: TypeNode | None
) -> JsonObject:
    """``obj`` with the operations that an expression made.

    Raises Unapplicable, and InternalError for what is no object of the kind any more.
    """
    operations = [_operation(one) for one in made]
    try:
        found = apply_json_patch(obj, operations)
    except FailedTest:
        return obj
    except RejectedPatch as why:
        raise Unapplicable(f"JSON Patch: {why}") from why
    # Of a custom kind they are dropped.
    typed = node if node is not None and node.decode is None else None
    if typed and isinstance(found, dict) and (unknown := unknown_fields(typed, found)):
        said = ", ".join(f'unknown field "{field}"' for field in unknown)
        raise InternalError.of(f"strict decoding error: {said}")
    return typed_object(found, kind, node)


def _failed(why: str) -> Unapplicable:
    return Unapplicable(f"error applying patch: {why}")


def _check_names(made: MadeObject) -> None:
    if wrong := list(misnamed(made)):
        raise Unapplicable(f"type mismatch: {chr(10).join(wrong)}")


def _operation(made: Any) -> JsonObject:
    if not isinstance(made, MadeObject) or made.type_name != PATCH:
        raise Unapplicable(
            "type mismatch: JSONPatchType.expression should evaluate to array of JSONPatch"
        )
    operation: JsonObject = {"op": made.get("op") or "", "path": made.get("path") or ""}
    if made.get("from"):
        operation["from"] = made["from"]
    if "value" in made:
        value = made["value"]
        if isinstance(value, MadeObject):
            _check_names(value)
        operation["value"] = plain(value)
    return operation


def plain(value: Any) -> Any:
    """A value of CEL's as JSON. Raises Unapplicable for one that has no such form."""
    match value:
        case None | bool() | str():
            return value
        case int():
            return int(value) if abs(value) <= _SAFE else str(int(value))
        case float():
            if not isfinite(value):
                found = go_text.number(value)
                raise _unwritable(f"google.protobuf.Value.number_value: invalid {found} value")
            return value
        case dict():
            return {_key(key): plain(item) for key, item in value.items()}
        case list():
            return [plain(item) for item in value]
        case bytes():
            return base64.b64encode(value).decode()
        case datetime() | timedelta():
            return to_string(value)
        case Optional(has_value=True, value=inner):
            return plain(inner)
        case _:
            short = type_name(value).rpartition(".")[2]
            if short == "type":
                raise _unwritable("type conversion not supported for 'type'")
            raise _unwritable(f"type conversion error from '{short}' to '*structpb.Value'")


def _key(value: Any) -> str:
    if not isinstance(value, str):
        raise _unwritable(f"unsupported type conversion from '{type_name(value)}' to string")
    return value


def _unwritable(why: str) -> Unapplicable:
    return Unapplicable(
        f"JSONPath valueExpression evaluated to a type that could not marshal to JSON: {why}"
    )


def _atomics(value: Any, node: TypeNode | None, path: str) -> Iterator[str]:
    """Paths of what apply would replace as a whole: what is not named in it would be lost."""
    if node is None:
        return
    if isinstance(value, dict) and node.shape in (Shape.OBJECT, Shape.MAP):
        if node.atomic_map:
            yield path
        for key, item in value.items():
            if node.shape is Shape.OBJECT:
                yield from _atomics(item, node.field_of(key), f"{path}.{key}")
    elif isinstance(value, list) and node.shape is Shape.LIST:
        if node.list_type is ListType.ATOMIC:
            yield path
        inner = node.element() if node.element is not None else None
        for index, item in enumerate(value):
            yield from _atomics(item, inner, f"{path}[{index}]")
