"""Values that decoding leaves as they are, as types that msgspec checks without running Python.

Programs send what they have read, or what they made of it: nearly all of a body is written as a
server writes it. A ``CanonicalForm`` says so of a value and everything below it: known fields of
the right types, nothing empty that Go leaves out, nothing missing that it always writes, quantities
and times canonical. ``check`` walks only what does not fit, so a form may refuse too much, never
too little.

Cost: 5 µs for the spec of a pod, a quarter of its walk. Building a form takes milliseconds; fields
whose structs were in no body so far are left to their walks in it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, NamedTuple

import msgspec

from proreus.api.typed import Shape, TypeNode
from proreus.server.schema.decode_error import element_of
from proreus.server.schema.presence import Presence, is_null_when_missing, presence
from proreus.server.schema.scalars import Mismatch, Seen, Walk, plain_quantity, resource_quantity

_QUANTITIES = (plain_quantity, resource_quantity)
_KNOWN_MAX, _QUANTITY_MAX = 1024, 64  # values of one field, characters of each
_NON_EMPTY = msgspec.Meta(min_length=1)
_NULL_WHEN_MISSING = (Shape.LIST, Shape.MAP, Shape.TIME, Shape.MICRO_TIME, Shape.BYTES, Shape.ANY)
_JSON = bool | int | float | str | list[Any] | dict[str, Any]  # but null
# Every day but February 29, which the walk knows.
_TIME = (
    r"\A[1-9][0-9]{3}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])"
    r"|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|1[0-9]|2[0-8]))"
    r"T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]"
)
_PLAIN: dict[Shape, Any] = {
    Shape.STRING: str,
    Shape.NUMBER: int | float,
    Shape.BOOLEAN: bool,
    Shape.INT_OR_STRING: Annotated[int, msgspec.Meta(ge=-(2**31), lt=2**31)] | str,
    Shape.TIME: Annotated[str, msgspec.Meta(pattern=rf"{_TIME}Z\Z")],
    Shape.MICRO_TIME: Annotated[str, msgspec.Meta(pattern=rf"{_TIME}\.[0-9]{{6}}Z\Z")],
    Shape.ANY: _JSON,
}


class Walks(NamedTuple):
    """Of a struct's field, of a list's or map's element; and whether a struct was ever walked."""

    of_field: Callable[[TypeNode, str, TypeNode], Walk]
    of_element: Callable[[TypeNode], Walk]
    is_used: Callable[[TypeNode], bool]


class CanonicalForm:
    """Of a kind, or of a field in some struct."""

    __slots__ = ("_type",)

    def __init__(self, made: Any) -> None:
        # Types other than structs would be read again each time: such a value is put into one.
        self._type = msgspec.defstruct("Holder", [("value", made)], gc=False)

    @classmethod
    def of_kind(cls, node: TypeNode, walks: Walks) -> CanonicalForm:
        return cls(_struct(node, walks))

    @classmethod
    def of_field(cls, owner: TypeNode, key: str, field: TypeNode, walks: Walks) -> CanonicalForm:
        is_struct = field.shape is Shape.OBJECT
        return cls(_struct(field, walks) if is_struct else _of_field(owner, key, field, walks))

    def fits(self, value: Any) -> bool:
        try:
            msgspec.convert({"value": value}, self._type, dec_hook=_accept)
        except msgspec.ValidationError:
            return False
        return True


class _Walked:
    """Stands for a value that its walk leaves as it is. ``accepted``: all that msgspec needs to be
    given of it. ``known``: quantities that were left so, of which a cluster has few; no others, as
    some fields are secret."""

    walk: Walk
    accepted: _Walked
    known: set[str]
    is_quantity: bool


def _walked(walk: Walk) -> type[_Walked]:
    made: type[_Walked] = type("Walked", (_Walked,), {"walk": staticmethod(walk)})
    made.accepted, made.known, made.is_quantity = made(), set(), walk in _QUANTITIES
    return made


def _accept(kind: type[_Walked], value: Any) -> _Walked:
    if value.__class__ is str and value in kind.known:
        return kind.accepted
    try:
        if value is None or kind.walk(value, Seen(misfits_left=0)) != value:
            raise ValueError
    except Mismatch as found:
        raise ValueError from found
    if kind.is_quantity and len(value) <= _QUANTITY_MAX:
        if len(kind.known) >= _KNOWN_MAX:
            kind.known.clear()
        kind.known.add(value)
    return kind.accepted


def _of_field(owner: TypeNode, key: str, field: TypeNode, walks: Walks) -> Any:
    kept, shape = presence(owner, key, field), field.shape
    is_omitted = kept is Presence.OMIT_EMPTY
    if is_omitted and shape is Shape.INTEGER:
        return _integer(field, 1)
    found = _of(field, walks)
    if found is None or (is_omitted and shape in (Shape.NUMBER, Shape.BOOLEAN)):
        found = _walked(walks.of_field(owner, key, field))
    elif shape in (Shape.LIST, Shape.MAP) if kept is Presence.ALWAYS else is_omitted:
        # An empty list that is always written is written as null.
        found = Annotated[found, _NON_EMPTY]
    is_null = shape in _NULL_WHEN_MISSING or is_null_when_missing(owner, key)
    return found | None if kept is Presence.ALWAYS and is_null else found


def _of(node: TypeNode, walks: Walks) -> Any:
    """The type of a value where empty ones are kept. None: only its walk can tell."""
    match node.shape:
        case Shape.OBJECT:
            return _struct(node, walks) if walks.is_used(node) else None
        case Shape.LIST:
            return list[_of_element(node, walks)]  # type: ignore[misc]  # made at run time
        case Shape.MAP:
            return dict[str, _of_element(node, walks)]  # type: ignore[misc]  # made at run time
        case Shape.INTEGER:
            return _integer(node)
        case Shape.ANY if node.element is not None:
            return None
        case _:
            return _PLAIN.get(node.shape)


def _of_element(node: TypeNode, walks: Walks) -> Any:
    """Structs always: where there is one in a list, there are more."""
    element = element_of(node)
    is_struct = element.shape is Shape.OBJECT
    found = _struct(element, walks) if is_struct else _of(element, walks)
    return _walked(walks.of_element(node)) if found is None else found


def _integer(node: TypeNode, minimum: int | None = None) -> Any:
    end = 2 ** (63 if node.format == "int64" else 31)
    return Annotated[int, msgspec.Meta(ge=-end if minimum is None else minimum, le=end - 1)]


_structs: dict[int, tuple[TypeNode, Any]] = {}  # by id; the node is kept so that the id is


def _struct(node: TypeNode, walks: Walks) -> Any:
    if (made := _structs.get(id(node))) is not None:
        return made[1]
    _structs[id(node)] = node, None  # what it contains of itself is left to its walk
    fields: list[Any] = []
    names: dict[str, str] = {}
    for number, (key, field) in enumerate(node.properties().items() if node.properties else ()):
        name = f"field_{number}"  # keys need not be names
        names[name] = key
        form = _of_field(node, key, field, walks)
        always = presence(node, key, field) is Presence.ALWAYS
        fields.append((name, form) if always else (name, form, None))
    struct = msgspec.defstruct(
        "Struct", fields, rename=names, kw_only=True, forbid_unknown_fields=True, gc=False
    )
    _structs[id(node)] = node, struct
    return struct
