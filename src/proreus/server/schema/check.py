"""Decoding into a kind: types, formats, unknown fields and Go's idea of empty, in one walk.

Given decoded JSON and the shape of a kind, ``check`` returns what a Kubernetes server would hold:
unknown fields gone (and reported), nulls and empty values as Go writes them (``presence``),
quantities and times canonical. A value of the wrong type raises ``DecodeError`` in the words of
Go's decoder.

The walk is compiled: each node becomes one closure on first use, objects loop over the fields that
are there, strings are handled in place. Paths cost nothing: a type error collects its path while
it travels up, and unknown fields are located by a second walk only if there are any. The result is
made of new dicts and lists, so the input may be shared. A pod of 3.7 kB takes about 25 µs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, NamedTuple

from proreus.api.field_error import FAULTS_MAX
from proreus.api.typed import Shape, TypeNode
from proreus.server.schema import scalars
from proreus.server.schema.decode_error import DecodeError, element_of, mismatch_text
from proreus.server.schema.presence import Presence, is_null_when_missing, presence
from proreus.server.schema.restore_error import restore_format_text, restore_text
from proreus.server.schema.scalars import FormatError, Mismatch

__all__ = ["Checked", "DecodeError", "check", "unknown_fields", "zero"]

Seen = list[str]  # keys that no struct declares, anywhere; only whether it is empty matters
Walk = Callable[[Any, Seen], Any]


class Checked(NamedTuple):
    value: dict[str, Any]
    # Paths in the order of the body, e.g. spec.containers[0].imag; of very many only the first.
    unknown_fields: list[str]


def check(node: TypeNode, value: Any, raw: bytes = b"", *, is_text: bool = True) -> Checked:
    """Decode ``value`` as ``node``. ``raw``, the JSON it came from, lets errors quote numbers.

    Without ``is_text`` errors are those of Kubernetes' copying of values that are decoded already.
    """
    if node.decode is not None:
        return Checked(*node.decode(value))
    seen: Seen = []
    try:
        result = _walk_of(node)(value, seen)
    except Mismatch as found:
        text = mismatch_text(node, found, raw) if is_text else restore_text(node, found)
        raise DecodeError(text) from found
    except FormatError as found:
        raise DecodeError(str(found) if is_text else restore_format_text(found)) from found
    unknown = unknown_fields(node, value) if seen else []
    return Checked(result, unknown)


def zero(node: TypeNode) -> dict[str, Any]:
    """What a server writes for a struct that was not given: mostly ``{}``."""
    if node.decode is not None:
        return {"metadata": {}}
    result: dict[str, Any] = _walk_of(node)({}, [])
    return result


def unknown_fields(node: TypeNode, value: Any) -> list[str]:
    """The paths of the fields the shape does not declare, in the order of the body, as many
    as are reported and one more."""
    return list(islice(_unknown(node, value, ""), FAULTS_MAX + 1))


def _unknown(node: TypeNode, value: Any, path: str) -> Iterator[str]:
    match node.shape, value:
        case Shape.OBJECT, dict():
            for key, item in value.items():
                below = f"{path}.{key}" if path else key
                field = node.field_of(key)
                if field is not None:
                    yield from _unknown(field, item, below)
                elif not node.preserve_unknown:
                    yield below
        case Shape.MAP, dict():
            inner = element_of(node)
            for key, item in value.items():
                yield from _unknown(inner, item, f"{path}[{key}]")
        case Shape.LIST, list():
            inner = element_of(node)
            for index, item in enumerate(value):
                yield from _unknown(inner, item, f"{path}[{index}]")


# --- compiling

_STRINGS = {str}
_compiled: dict[int, tuple[TypeNode, Walk]] = {}  # by id; the node is kept so that the id is


def _walk_of(node: TypeNode) -> Walk:
    found = _compiled.get(id(node))
    if found is None:
        found = _compiled[id(node)] = (node, _compile(node))
    return found[1]


def _compile(node: TypeNode) -> Walk:
    match node.shape:
        case Shape.OBJECT:
            return _object(node)
        case Shape.LIST:
            return _list(node)
        case Shape.MAP:
            return _map(node)
        case _:
            return scalars.WALKS[node.shape](node)


def _text(value: Any, seen: Seen) -> Any:
    """The walk of a string that is left out when empty; objects handle the good case in place."""
    if value is None or value == "":
        return None
    raise Mismatch(value)


def _object(node: TypeNode) -> Walk:
    fields: dict[str, Walk] = {}
    find, text, string = fields.get, _text, scalars.string
    always: tuple[tuple[str, Callable[[], Any]], ...] = ()

    def prepare() -> None:
        nonlocal always
        properties = node.properties() if node.properties else {}
        walks = {key: _field_walk(node, key, field) for key, field in properties.items()}
        always = tuple(
            (key, _nothing if is_null_when_missing(node, key) else _maker(field))
            for key, field in properties.items()
            if presence(node, key, field) is Presence.ALWAYS
        )
        fields.update(walks)  # at once: long bodies are walked beside the loop

    def walk(value: Any, seen: Seen) -> Any:
        if value.__class__ is not dict:
            if value is not None:
                raise Mismatch(value)
            value = {}
        if not fields:
            prepare()
        result = value.copy()
        key = ""
        try:
            for key, item in value.items():
                field = find(key)
                if item.__class__ is str and item and (field is text or field is string):
                    continue
                if field is None:
                    seen.append(key)
                    del result[key]
                    continue
                made = None if item is None else field(item, seen)
                if made is None:
                    del result[key]
                elif made is not item:
                    result[key] = made
        except Mismatch as found:
            found.path.append(key)
            raise
        for key, make in always:
            if key not in result:
                result[key] = make()
        return result

    return walk


def _field_walk(owner: TypeNode, key: str, field: TypeNode) -> Walk:
    """The walk of a struct's field; it answers None where the field is to be left out."""
    kept = presence(owner, key, field)
    if kept is Presence.OMIT_EMPTY and field.shape is Shape.STRING:
        return _text
    match field.shape:
        case Shape.OBJECT:
            return _late(field)
        case Shape.LIST | Shape.MAP:
            # An empty one that is always written is written as null: left out here, put in later.
            compiled = _list if field.shape is Shape.LIST else _map
            return compiled(field, keeps_empty=kept is Presence.POINTER)
        case _:
            inner = _walk_of(field)
            if kept is Presence.OMIT_EMPTY:
                return lambda value, seen: inner(value, seen) or None
            return inner


def _late(field: TypeNode) -> Walk:
    """A node may contain itself, so a struct is known before its fields are looked at."""
    found = _compiled.get(id(field))
    if found is not None:
        return found[1]
    _compiled[id(field)] = (field, walk := _object(field))
    return walk


def _maker(field: TypeNode) -> Callable[[], Any]:
    match field.shape:
        case Shape.OBJECT:
            walk = _late(field)
            return lambda: walk({}, [])
        case Shape.STRING:
            return str
        case Shape.INTEGER | Shape.NUMBER | Shape.INT_OR_STRING:
            return int
        case Shape.BOOLEAN:
            return bool
        case Shape.QUANTITY:
            return lambda: "0"
        case _:
            return _nothing


def _nothing() -> None:
    return None


def _list(node: TypeNode, *, keeps_empty: bool = True) -> Walk:
    walk: Walk | None = None

    def items(value: Any, seen: Seen) -> Any:
        nonlocal walk
        if value.__class__ is not list:
            raise Mismatch(value)
        if not value:
            return [] if keeps_empty else None
        if walk is None:
            walk = _walk_of(element_of(node))
        made: list[Any] = []
        try:
            for item in value:
                made.append(walk(item, seen))
        except Mismatch as found:
            found.path.append(len(made))
            raise
        return made

    return items


def _map(node: TypeNode, *, keeps_empty: bool = True) -> Walk:
    walk: Walk | None = None

    def entries(value: Any, seen: Seen) -> Any:
        nonlocal walk
        if value.__class__ is not dict:
            raise Mismatch(value)
        if not value:
            return {} if keeps_empty else None
        if walk is None:
            element = element_of(node)
            is_amount = element.shape is Shape.QUANTITY
            walk = scalars.resource_quantity if is_amount else _walk_of(element)
        if walk is scalars.string and {*map(type, value.values())} == _STRINGS:
            return value.copy()
        key = ""
        result = {}
        try:
            for key, item in value.items():
                result[key] = walk(item, seen)
        except Mismatch as found:
            found.path.append(key)
            raise
        return result

    return entries
