"""Lists of a strategic merge patch: by merge key or by value, then put in order.

The order is always made anew: elements the patch names follow the patch, elements only the server
has follow the server, and of two heads the server's comes first only if the server knows both.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

from proreus.api import go_text
from proreus.api.json_types import JsonObject
from proreus.api.patch.directives import PATCH, without_directives
from proreus.api.patch.errors import RejectedPatch, UnmappedPatchError
from proreus.api.typed import TypeNode

Items = list[Any]
Identity = Callable[[Any], Hashable]
MergeObject = Callable[[JsonObject, JsonObject, TypeNode | None], JsonObject]


def merge_lists(original: Items, patch: Items, field: TypeNode, merge_object: MergeObject) -> Items:
    """Merge by the field's merge key, or as a set of scalars; elements by ``merge_object``."""
    if not original and not patch:
        return original
    if _elements_are_objects(original, patch):
        return _merge_objects(original, patch, field, merge_object)
    merged = list(dict.fromkeys((*original, *patch)))
    return _in_order(merged, named=patch, server=original, identity=_by_value)


def merge_in_order(
    original: Any, patch: Any, order: Any, field: TypeNode | None, merge_object: MergeObject
) -> Items | None:
    """Merge, then order by ``$setElementOrder``; None if there is no list to order."""
    for given in (order, original or [], patch or []):
        if not isinstance(given, list):
            raise UnmappedPatchError(
                f"expected a []interface {{}}, but received a {go_text.type_name(given)}"
            )
    key = field.patch_merge_key if field else ""
    _check_order(patch, order, key)
    if original is not None and patch is not None:
        merged = merge_lists(original, patch, field, merge_object) if field else patch
    elif original is not None:
        merged = original
    elif patch is not None:
        merged = without_directives(patch)
    else:
        return None
    identity = _by_key(key) if key else _by_value
    return _in_order(merged, named=order, server=original or [], identity=identity)


def delete_values(original: Items, values: Items) -> Items:
    gone = {_by_value(value) for value in values}
    return [item for item in original if _by_value(item) not in gone]


def _merge_objects(
    original: Items, patch: Items, field: TypeNode, merge_object: MergeObject
) -> Items:
    key = field.patch_merge_key
    if not key:
        raise UnmappedPatchError(f"cannot merge lists without merge key for {field.name}")
    original, patch = _obey_directives(original, patch, key)
    identity = _by_key(key)
    places = {identity(item): at for at, item in reversed(list(enumerate(original)))}
    element = field.element() if field.element else None
    merged = list(original)
    for item in patch:
        at = places.get(identity(item))
        if at is None:
            merged.append(without_directives(item))
        else:
            merged[at] = merge_object(merged[at], item, element)
    return _in_order(merged, named=patch, server=original, identity=identity)


def _obey_directives(original: Items, patch: Items, key: str) -> tuple[Items, Items]:
    """The server's elements left after ``$patch`` elements, and the patch's other elements."""
    kept: Items = []
    gone: set[Hashable] = set()
    replace = False
    identity = _by_key(key)
    for item in patch:
        match item.get(PATCH):
            case None:
                kept.append(item)
            case "delete":
                gone.add(identity(item))
            case "replace":
                replace = True
            case "merge":
                raise UnmappedPatchError("merging lists cannot yet be specified in the patch")
            case other:
                raise UnmappedPatchError(
                    f"unknown patch type: {go_text.plain(other)} in map: {go_text.plain(item)}"
                )
    if replace:
        return kept, []
    left = [item for item in original if identity(item) not in gone] if gone else original
    return left, kept


def _elements_are_objects(original: Items, patch: Items) -> bool:
    kinds = {type(item) for item in (*original, *patch)}
    first = (original or patch)[0]
    if isinstance(first, list):
        raise RejectedPatch("lists of lists are not supported")
    if len(kinds) > 1:
        rendered = go_text.plain([original, patch])
        raise UnmappedPatchError(f"list element types are not identical: {rendered}")
    return isinstance(first, dict)


def _check_order(patch: Any, order: Items, key: str) -> None:
    """Elements of the patch must stand in ``$setElementOrder``, and in its order."""
    if not isinstance(patch, list) or not patch or not order:
        return
    if isinstance(patch[0], list):
        raise RejectedPatch("lists of lists are not supported")
    wanted = [item for item in patch if not (isinstance(item, dict) and PATCH in item)]
    found = iter(_key_of(item, key) for item in order)
    if not all(any(_key_of(item, key) == other for other in found) for item in wanted):
        raise UnmappedPatchError(
            f"The order in patch list:\n{go_text.plain(patch)}\n doesn't match "
            f"$setElementOrder list:\n{go_text.plain(order)}\n"
        )


def _key_of(item: Any, key: str) -> Any:
    return item.get(key) if isinstance(item, dict) and key else item


def _in_order(merged: Items, *, named: Items, server: Items, identity: Identity) -> Items:
    rank = {identity(item): at for at, item in reversed(list(enumerate(named)))}
    place = {identity(item): at for at, item in reversed(list(enumerate(server)))}
    ours = [(identity(item), item) for item in merged]
    by_patch = sorted((pair for pair in ours if pair[0] in rank), key=lambda pair: rank[pair[0]])
    by_server = [pair for pair in ours if pair[0] not in rank]
    result: Items = []
    right = 0
    for name, item in by_server:
        while right < len(by_patch):
            other = by_patch[right][0]
            if other in place and name in place and place[name] < place[other]:
                break
            result.append(by_patch[right][1])
            right += 1
        result.append(item)
    result.extend(item for _, item in by_patch[right:])
    return result


def _by_value(item: Any) -> Hashable:
    if isinstance(item, dict | list):
        raise UnmappedPatchError("cannot merge lists without merge key")
    # 1 and true are two values, though equal as dictionary keys.
    return (type(item), item)


def _by_key(key: str) -> Identity:
    def identity(item: Any) -> Hashable:
        if not isinstance(item, dict) or key not in item:
            raise UnmappedPatchError(
                f"map: {go_text.plain(item)} does not contain declared merge key: {key}"
            )
        value: Hashable = item[key] if not isinstance(item[key], dict | list) else repr(item[key])
        return value

    return identity
