"""Strategic merge patch: merge patch that knows from the type how lists merge (server.md §6.3.1).

The type's ``patch_strategies`` and ``patch_merge_key`` decide; directives in the patch override
them. ``strategic_lists`` merges and orders the lists. Neither argument is changed: the result
copies the path that changed and shares the rest, so the cost follows the patch, not the object.
"""

from __future__ import annotations

from typing import Any

from proreus.api import go_text
from proreus.api.go_text import quoted
from proreus.api.json_types import JsonObject
from proreus.api.patch import strategic_lists
from proreus.api.patch.directives import (
    DELETE_LIST,
    PATCH,
    RETAIN_KEYS,
    SET_ORDER,
    field_of_directive,
    is_directed,
    without_directives,
)
from proreus.api.patch.errors import MalformedPatch, UnmappedPatchError
from proreus.api.typed import Shape, TypeNode


def apply_strategic_merge(document: JsonObject, patch: Any, node: TypeNode | None) -> JsonObject:
    """The patched document. ``null`` changes nothing; kind and apiVersion never change.

    Of these, values that are no strings stay: decoding the result refuses them.
    """
    if patch is None:
        return document
    if not isinstance(patch, dict):
        raise MalformedPatch(
            f"json: cannot unmarshal {go_text.json_kind(patch)} "
            "into Go value of type map[string]interface {}"
        )
    try:
        merged = _merge_object(document, patch, node)
    except RecursionError as deep:
        raise MalformedPatch("exceeded max depth") from deep
    kept = {
        key: document[key]
        for key in ("kind", "apiVersion")
        if key in document and isinstance(merged.get(key, ""), str | None)
    }
    return merged | kept


def _merge_object(original: JsonObject, patch: JsonObject, node: TypeNode | None) -> JsonObject:
    """One level of objects; ``original`` is not changed."""
    if "$" in "".join(patch):
        return _merge_with_directives(original, patch, node)
    merged = dict(original)
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        elif isinstance(value, dict | list):
            _merge_value(merged, value, node, key)
        else:
            merged[key] = value
    return merged


def _merge_with_directives(
    original: JsonObject, patch: JsonObject, node: TypeNode | None
) -> JsonObject:
    if PATCH in patch:
        return _directed(patch)
    merged = _retained(original, patch)
    done = _merge_ordered_lists(merged, patch, node)
    for key, value in patch.items():
        if key in done:
            continue
        is_deletion = key.startswith(DELETE_LIST)
        name = field_of_directive(key, DELETE_LIST) if is_deletion else key
        if value is None:
            merged.pop(name, None)
        elif is_deletion:
            _delete_from_list(merged, name, value, node)
        elif isinstance(value, dict | list):
            _merge_value(merged, value, node, name)
        else:
            merged[name] = value
    return merged


def _directed(patch: JsonObject) -> JsonObject:
    match patch[PATCH]:
        case "replace":
            return {key: value for key, value in patch.items() if key != PATCH}
        case "delete":
            return {}
        case other:
            raise UnmappedPatchError(
                f"unknown patch type: {go_text.text(other)} in map: {go_text.plain(patch)}"
            )


def _retained(original: JsonObject, patch: JsonObject) -> JsonObject:
    """A copy of ``original``, reduced to the keys that ``$retainKeys`` lists."""
    if RETAIN_KEYS not in patch:
        return dict(original)
    listed = patch[RETAIN_KEYS]
    if not isinstance(listed, list):
        raise MalformedPatch("invalid patch format of retainKeys")
    for key, value in patch.items():
        if value is not None and not key.startswith("$") and key not in listed:
            raise MalformedPatch("invalid patch format of retainKeys")
    return {key: value for key, value in original.items() if key in listed}


def _merge_ordered_lists(merged: JsonObject, patch: JsonObject, node: TypeNode | None) -> set[str]:
    """Do the lists that ``$setElementOrder`` names, and say which patch keys that settles."""
    done = {RETAIN_KEYS}
    for key in [key for key in patch if key.startswith(SET_ORDER)]:
        order = patch[key]
        done.add(key)
        strategic_lists.check_is_list(order)
        name = field_of_directive(key, SET_ORDER)
        given = {"order": order}
        given |= {"original": merged[name]} if name in merged else {}
        given |= {"patch": patch[name]} if name in patch else {}
        for value in given.values():
            strategic_lists.check_is_list(value)
        field = _field_to_merge(node, name)
        if field is not None and field.shape is not Shape.LIST:
            raise UnmappedPatchError("expected slice or array type, but got: struct")
        ordered = strategic_lists.merge_in_order(given, field, _merge_object)
        if ordered is not None:
            merged[name] = ordered
            done.add(name)
    return done


def _delete_from_list(merged: JsonObject, key: str, values: Any, node: TypeNode | None) -> None:
    original = merged.get(key)
    if type(original) is type(values) and not isinstance(values, list):
        _merge_value(merged, values, node, key)  # the directive means nothing but to lists
        return
    # Anything else but a list against a list is silently nothing (server.md §12).
    field = node.field_of(key) if node else None
    if isinstance(values, list) and isinstance(original, list) and field is not None:
        merged[key] = strategic_lists.delete_values(original, values, field, _merge_object)


def _field_to_merge(node: TypeNode | None, key: str) -> TypeNode | None:
    """The field of a struct. Kubernetes finds none in maps, nor in types that decode themselves."""
    if node is None:
        return None
    if node.shape is Shape.MAP:
        raise UnmappedPatchError(
            "merging an object in json but data type is not struct, instead is: map"
        )
    field = node.field_of(key)
    if field is None and node.name:
        struct = node.name.rpartition(".")[2]
        raise UnmappedPatchError(
            f"unable to find api field in struct {struct} for the json field {quoted(key)}"
        )
    return field


def _merge_value(merged: JsonObject, value: Any, node: TypeNode | None, key: str) -> None:
    original = merged.get(key)
    are_alike = isinstance(original, dict | list) and type(original) is type(value)
    field = _field_to_merge(node, key) if are_alike else None
    strategies = field.patch_strategies if field is not None else frozenset()
    if isinstance(original, dict) and isinstance(value, dict):
        merged[key] = value if "replace" in strategies else _merge_object(original, value, field)
    elif isinstance(original, list) and isinstance(value, list):
        merged[key] = value
        if field is not None and "merge" in strategies:
            merged[key] = strategic_lists.merge_lists(original, value, field, _merge_object)
    elif is_directed(value):
        merged.pop(key, None)
    else:
        merged[key] = without_directives(value)
