"""Decoding into a kind: types, formats, unknown fields and Go's idea of empty, in one walk.

Given decoded JSON and the shape of a kind, ``check`` returns what a Kubernetes server would hold:
unknown fields gone (and reported), nulls and empty values as Go writes them (``presence``),
quantities and times canonical. A value of the wrong type raises ``DecodeError`` in the words of
Go's decoder.

The walk is compiled: each node becomes one closure on first use, objects loop over the fields that
are there, strings are handled in place. A field that is written as a server writes it already, or
lacks only what is always written, is not walked but taken (``canonical``, ``completion``). Paths
cost nothing: a type error collects its path while it travels up, and unknown fields are located by
a second walk only if there are any. A pod of 3.7 kB takes about 8 µs, three times that if it has to
be walked.

The input is not changed, but the result consists of parts of it: it is the caller's own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

from proreus.api.field_error import FAULTS_MAX
from proreus.api.typed import Shape, TypeNode
from proreus.api.wire.json_reader import TOO_DEEP
from proreus.server.schema import scalars
from proreus.server.schema.canonical import CanonicalForm, Walks
from proreus.server.schema.completion import Complete, always_written, completion_of
from proreus.server.schema.decode_error import DecodeError, element_of, mismatch_text, place_of
from proreus.server.schema.go_types import json_type
from proreus.server.schema.own_decoders import outranking_fault
from proreus.server.schema.presence import Presence, presence
from proreus.server.schema.restore_error import restore_format_text, restore_text
from proreus.server.schema.scalars import FormatError, Mismatch, Nested, Seen, Walk

__all__ = ["Checked", "DecodeError", "check", "unknown_fields", "zero"]


_NOTHING: Mapping[str, Any] = {}


class Checked(NamedTuple):
    value: dict[str, Any]
    # Paths in the order of the body, e.g. spec.containers[0].imag; of very many only the first.
    unknown_fields: list[str]


def check(
    node: TypeNode,
    value: Any,
    raw: bytes = b"",
    *,
    is_text: bool = True,
    unchanged: Mapping[str, Any] = _NOTHING,
) -> Checked:
    """Decode ``value`` as ``node``. ``raw``, the JSON it came from, lets errors quote numbers.

    Without ``is_text`` errors are those of Kubernetes' copying of values that are decoded already.
    ``unchanged``: fields of the value that were checked before and are taken as they are.
    """
    if node.decode is not None:
        return Checked(*node.decode(value, is_text=is_text))
    seen = Seen(_MISFITS_MAX)
    try:
        if unchanged:
            given, value = value, {key: value[key] for key in value if key not in unchanged}
            result = _with_unchanged(_walk_of(node)(value, seen), unchanged, given)
        else:
            result = _kind_walk(node)(value, seen)
    except (Mismatch, FormatError) as fault:
        found = (outranking_fault(node, value) if is_text else None) or fault
        if isinstance(found, FormatError):
            raise DecodeError(str(found) if is_text else restore_format_text(found)) from fault
        text = mismatch_text(node, found, raw) if is_text else restore_text(node, found)
        raise DecodeError(text) from fault
    unknown = unknown_fields(node, value) if seen else []
    return Checked(result, unknown)


def _with_unchanged(
    checked: dict[str, Any], unchanged: Mapping[str, Any], given: Mapping[str, Any]
) -> dict[str, Any]:
    """Fields in the order in which they were given, then those that are always written."""
    found = {**checked, **unchanged}
    return {key: found[key] for key in given if key in found} | found


def zero(node: TypeNode) -> dict[str, Any]:
    """What a server writes for a struct that was not given: mostly ``{}``."""
    if node.decode is not None:
        return {"metadata": {}}
    result: dict[str, Any] = _walk_of(node)({}, Seen(0))
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
                yield from _unknown(inner, item, f"{path}.{key}")
        case Shape.LIST, list():
            inner = element_of(node)
            for index, item in enumerate(value):
                yield from _unknown(inner, item, f"{path}[{index}]")


# --- compiling

_STRINGS = {str}
_USES_MIN = 16  # before a form is worth its making, and common structs are known
_MISFITS_MAX = 32  # in one decoding
_WALKED_AFTER_MISFIT = 7  # a new object mostly lacks what its server adds; so do those after it
_compiled: dict[int, tuple[TypeNode, Walk]] = {}  # by id; the node is kept so that the id is
_kinds: dict[int, tuple[TypeNode, Walk]] = {}  # whole objects, in the same way
_used: set[int] = set()  # structs, by id, that were in some body


def _kind_walk(node: TypeNode) -> Walk:
    found = _kinds.get(id(node))
    if found is None:
        make_form = partial(CanonicalForm.of_kind, node, _WALKS)
        walk = _unless_canonical(_walk_of(node), make_form, _WALKED_AFTER_MISFIT)
        found = _kinds[id(node)] = (node, walk)
    return found[1]


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
        case Shape.ANY if node.element is not None:
            return _schema_union(node)
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
        always = always_written(node)
        _used.add(id(node))
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
    # An empty list that is always written is written as null: left out here, put in later.
    keeps_empty = kept is Presence.POINTER
    make_form = partial(CanonicalForm.of_field, owner, key, field, _WALKS)
    match field.shape:
        case Shape.OBJECT:
            return _unless_canonical(_late(field), make_form)
        case Shape.LIST:
            walk = _list(field, keeps_empty=keeps_empty)
            return _unless_canonical(walk, make_form, find_completion=partial(completion_of, field))
        case Shape.MAP:
            return _map(field, keeps_empty=keeps_empty)
        case _:
            inner = _walk_of(field)
            if kept is Presence.OMIT_EMPTY:
                return lambda value, seen: inner(value, seen) or None
            return inner


def _unless_canonical(
    walk: Walk,
    make_form: Callable[[], CanonicalForm],
    walked_after_misfit: int = 0,
    find_completion: Callable[[], Complete | None] = lambda: None,
) -> Walk:
    """``walk``, but for values that have, or get by what is added, their canonical form."""
    uses = resting = 0
    form: CanonicalForm | None = None
    complete: Complete | None = None

    def step(value: Any, seen: Seen) -> Any:
        nonlocal uses, resting, form, complete
        if not seen.misfits_left:
            return walk(value, seen)
        if form is None:
            uses += 1
            if uses < _USES_MIN:
                return walk(value, seen)
            form, complete = make_form(), find_completion()
        if resting:
            resting -= 1
        elif form.fits(value):
            return value
        else:
            completed = value if complete is None else complete(value)
            if completed is not value and form.fits(completed):
                return completed
            seen.misfits_left -= 1
            resting = walked_after_misfit
        return walk(value, seen)

    return step


def _late(field: TypeNode) -> Walk:
    """A node may contain itself, so a struct is known before its fields are looked at."""
    found = _compiled.get(id(field))
    if found is not None:
        return found[1]
    _compiled[id(field)] = (field, walk := _object(field))
    return walk


def _list(node: TypeNode, *, keeps_empty: bool = True) -> Walk:
    walk: Walk | None = None

    def items(value: Any, seen: Seen) -> Any:
        nonlocal walk
        if value.__class__ is not list:
            if value is None:
                return None  # an entry of a map may be null, as in Go
            raise Mismatch(value)
        if not value:
            return [] if keeps_empty else None
        if walk is None:
            walk = _element_walk(node)
        made: list[Any] = []
        try:
            for item in value:
                made.append(walk(item, seen))
        except Mismatch as found:
            found.path.append(len(made))
            raise
        return made

    return items


def _schema_union(node: TypeNode) -> Walk:
    """A JSON schema, or else a list or a boolean; other values are as good as none.

    These types decode themselves: what a schema in them does not know is dropped without a word.
    """
    element = element_of(node)
    other = node.name.rpartition("JSONSchemaPropsOr")[2]

    def schema(value: Any, seen: Seen) -> Any:
        own = Seen(seen.misfits_left)
        try:
            made = _walk_of(element)(value, own)
        except Mismatch as found:
            place = place_of(element, found)
            nested = Nested(place.node.shape, place.type_name(), mismatch_text(element, found, b""))
            raise Mismatch(found.value, nested=found.nested or nested) from found
        seen.misfits_left = own.misfits_left
        return made

    def text(value: Any, _: Seen) -> Any:
        if value.__class__ is not str:
            wanted = f"json: cannot unmarshal {json_type(value)} into Go value of type string"
            raise Mismatch(value, nested=Nested(Shape.STRING, "string", wanted))
        return value

    def walk(value: Any, seen: Seen) -> Any:
        if value.__class__ is dict:
            return schema(value, seen)
        if value is TOO_DEEP:
            return value  # for who reads the body to refuse
        if other == "Bool":
            if value.__class__ is not bool:
                raise FormatError("boolean or JSON schema expected")
            return value
        if value.__class__ is not list:
            return None
        element_walk = schema if other == "Array" else text
        return [element_walk(one, seen) for one in value] or None

    return walk


def _map(node: TypeNode, *, keeps_empty: bool = True) -> Walk:
    walk: Walk | None = None

    def entries(value: Any, seen: Seen) -> Any:
        nonlocal walk
        if value.__class__ is not dict:
            raise Mismatch(value)
        if not value:
            return {} if keeps_empty else None
        if walk is None:
            walk = _element_walk(node)
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


def _element_walk(node: TypeNode) -> Walk:
    element = element_of(node)
    if node.shape is Shape.MAP and element.shape is Shape.QUANTITY:
        return scalars.resource_quantity
    return _walk_of(element)


_WALKS = Walks(_field_walk, _element_walk, lambda node: id(node) in _used)
