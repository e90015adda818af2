"""Lists of a strategic merge patch: by merge key or by value, then put in order.

The order is always made anew: elements the patch names follow the patch, elements only the server
has follow the server, and of two heads the server's comes first only if the server knows both.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Any

from proreus.api import go_text
from proreus.api.json_types import JsonObject
from proreus.api.patch.directives import PATCH, is_directed, without_directives
from proreus.api.patch.errors import RejectedPatch, UnmappedPatchError
from proreus.api.typed import Shape, TypeNode

Items = list[Any]
Identity = Callable[[Any], Hashable]
Pairs = list[tuple[Hashable, Any]]
MergeObject = Callable[[JsonObject, JsonObject, TypeNode | None], JsonObject]

_INSERTION_MAX = 20  # longer lists are cut and merged


def merge_lists(original: Items, patch: Items, field: TypeNode, merge_object: MergeObject) -> Items:
    """Merge by the field's merge key, or as a set of scalars; elements by ``merge_object``."""
    if not original and not patch:
        return original
    if _elements_are_objects(original, patch):
        return _merge_objects(original, patch, field, merge_object)
    merged = list(dict.fromkeys((*original, *patch)))
    return _ordered(merged, named=patch, server=original, identity=_by_value)


def check_is_list(value: Any) -> None:
    if not isinstance(value, list):
        raise UnmappedPatchError(f"expected a []interface {{}}, but received a {_type_text(value)}")


def merge_in_order(
    given: dict[str, Any], field: TypeNode | None, merge_object: MergeObject
) -> Items | None:
    """Merge, then order by ``$setElementOrder``; None if there is no list to order.

    ``given`` has the ``order``, and of ``original`` and ``patch`` those there are: all lists.
    """
    original, patch = given.get("original"), given.get("patch")
    key = field.patch_merge_key if field else ""
    _check_order(patch, given["order"], key)
    if original is not None and patch is not None:
        is_merged = field is not None and "merge" in field.patch_strategies
        merged = merge_lists(original, patch, field, merge_object) if field and is_merged else patch
    elif original is None and patch is None:
        return None
    else:
        merged = without_directives(patch) if original is None else original
    if not original and not patch:
        raise UnmappedPatchError("no elements in any of the given slices")
    identity = _by_key(key) if key else _by_value
    if key:
        _check_maps(merged, given["order"], identity)
    return _ordered(merged, named=given["order"], server=original or [], identity=identity)


def delete_values(
    original: Items, values: Items, field: TypeNode, merge_object: MergeObject
) -> Items:
    """The list without these values; a list of objects is merged instead."""
    if not original and not values:
        return original
    if _elements_are_objects(original, values):
        return _merge_objects(original, values, field, merge_object)
    gone = {_by_value(value) for value in values}
    return [item for item in original if _by_value(item) not in gone]


def _merge_objects(
    original: Items, patch: Items, field: TypeNode, merge_object: MergeObject
) -> Items:
    key = field.patch_merge_key
    if not key:
        is_text = field.element is not None and field.element().shape is Shape.STRING
        what = "string" if is_text else "struct"
        raise UnmappedPatchError(f"cannot merge lists without merge key for {what}")
    original, patch = _obey_directives(original, patch, key)
    identity = _by_key(key)
    named = [identity(item) for item in patch]  # faults of the patch are found first
    server = [identity(item) for item in original]
    places = _first_places(server)
    element = field.element() if field.element else None
    merged = list(zip(server, original, strict=True))
    for name, item in zip(named, patch, strict=True):
        at = places.setdefault(name, len(merged))
        if at == len(merged):
            merged.append((name, item))
        else:
            merged[at] = (name, merge_object(merged[at][1], item, element))
    return _in_order(merged, named=named, server=server)


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
                    f"unknown patch type: {go_text.text(other)} in map: {go_text.plain(item)}"
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


def _check_maps(merged: Items, order: Items, identity: Identity) -> None:
    """Each element is looked for in ``$setElementOrder``, where there must be maps as far as that
    goes. In one pass: both lists may be long."""
    end = next((at for at, other in enumerate(order) if not isinstance(other, dict)), None)
    if end is None:
        return
    found = {identity(other) for other in order[:end]}
    if any(identity(item) not in found for item in merged):
        raise UnmappedPatchError(f"value for key {end} is not a map")


def _check_order(patch: Any, order: Items, key: str) -> None:
    """Elements of the patch must stand in ``$setElementOrder``, and in its order."""
    if not patch or not order:
        return
    identity: Callable[[Any], Any] = _by_key_of_map(key) if key else lambda item: (type(item), item)
    wanted = patch
    if key:
        wanted = [item for item in map(_checked_map, patch) if item.get(PATCH) != "delete"]
    at = place = 0
    while at < len(wanted) and place < len(order):
        if is_directed(wanted[at]):
            at += 1
            continue
        if identity(wanted[at]) == identity(order[place]):
            at += 1
        place += 1
    if at < len(wanted) and place >= len(order):
        raise UnmappedPatchError(
            f"The order in patch list:\n{go_text.plain(patch)}\n doesn't match "
            f"$setElementOrder list:\n{go_text.plain(order)}\n"
        )


def _by_key_of_map(key: str) -> Identity:
    identity = _by_key(key)
    return lambda item: identity(_checked_map(item))


def _checked_map(item: Any) -> Any:
    if isinstance(item, dict):
        return item
    raise UnmappedPatchError(
        f"expected a map[string]interface {{}}, but received a {_type_text(item)}"
    )


def _type_text(value: Any) -> str:
    return "%!s(<nil>)" if value is None else go_text.type_name(value)


def _ordered(merged: Items, *, named: Items, server: Items, identity: Identity) -> Items:
    pairs = [(identity(item), item) for item in merged]
    return _in_order(pairs, named=map(identity, named), server=map(identity, server))


def _in_order(merged: Pairs, *, named: Iterable[Hashable], server: Iterable[Hashable]) -> Items:
    rank, place = _first_places(named), _first_places(server)
    by_patch = sorted((pair for pair in merged if pair[0] in rank), key=lambda pair: rank[pair[0]])
    by_server = _by_places([pair for pair in merged if pair[0] not in rank], place)
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


def _first_places(names: Iterable[Hashable]) -> dict[Hashable, int]:
    places: dict[Hashable, int] = {}
    for at, name in enumerate(names):
        places.setdefault(name, at)
    return places


def _by_places(pairs: Pairs, place: dict[Hashable, int]) -> Pairs:
    """In the server's order. Kubernetes holds whatever the server does not know for smaller and
    for larger than all else, so where it ends depends on how it sorts: by insertion."""
    if all(name in place for name, _ in pairs):
        return sorted(pairs, key=lambda pair: place[pair[0]])
    if len(pairs) > _INSERTION_MAX:
        return pairs
    result = list(pairs)
    for start in range(1, len(result)):
        at = start
        while at:
            here, before = place.get(result[at][0]), place.get(result[at - 1][0])
            if here is not None and before is not None and here >= before:
                break
            result[at - 1 : at + 1] = result[at], result[at - 1]
            at -= 1
    return result


def _by_value(item: Any) -> Hashable:
    if isinstance(item, dict | list):
        raise UnmappedPatchError("cannot merge lists without merge key")
    # 1 and true are two values, though equal as dictionary keys.
    return (type(item), item)


def _by_key(key: str) -> Identity:
    def identity(item: Any) -> Hashable:
        try:
            value: Any = item[key]
        except (KeyError, TypeError) as missing:
            raise UnmappedPatchError(
                f"map: {go_text.plain(item)} does not contain declared merge key: {key}"
            ) from missing
        if isinstance(value, dict | list):
            value = repr(value)
        return (type(value), value)

    return identity
