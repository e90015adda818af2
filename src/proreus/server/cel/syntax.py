"""The syntax tree of a checked expression, decoded from the checker's serialized result.

The checker hands its result out only as a serialized ``cel.expr.CheckedExpr``. Its tree carries for
every node the type and for calls the overloads that were found; cost and evaluation work on it.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from typing import Any

from proreus.api.wire.protobuf_wire import read_varint, signed
from proreus.lazy_dataclass import dataclass

_PRIMITIVES = {1: "bool", 2: "int", 3: "uint", 4: "double", 5: "string", 6: "bytes"}
_WELL_KNOWN = {1: "dyn", 2: "timestamp", 3: "duration"}
UINT_MAX = 2**64 - 1


_DEEPEST = 150  # what reads and runs the tree recurses


class TooDeep(Exception):
    """An expression that is nested deeper than any person writes."""


class Uint(int):
    """An unsigned number: ``1u``."""


@dataclass(frozen=True, slots=True)
class Type:
    """``name`` is a kind of CEL's or the full name of an object's type."""

    name: str
    parameters: tuple[Type, ...] = ()


DYN = Type("dyn")


@dataclass(frozen=True, slots=True)
class Constant:
    type: Type
    value: Any


@dataclass(frozen=True, slots=True)
class Identifier:
    type: Type
    name: str


@dataclass(frozen=True, slots=True)
class Select:
    type: Type
    operand: Node
    field: str
    is_test: bool


@dataclass(frozen=True, slots=True)
class Call:
    type: Type
    function: str
    target: Node | None
    arguments: tuple[Node, ...]
    overloads: tuple[str, ...]

    @property
    def operands(self) -> tuple[Node, ...]:
        return self.arguments if self.target is None else (self.target, *self.arguments)


@dataclass(frozen=True, slots=True)
class MakeList:
    type: Type
    elements: tuple[Node, ...]
    optional: frozenset[int]


@dataclass(frozen=True, slots=True)
class MapEntry:
    key: Node
    value: Node
    is_optional: bool


@dataclass(frozen=True, slots=True)
class MakeMap:
    type: Type
    entries: tuple[MapEntry, ...]
    message: str  # not empty: an object of a named type, which only mutations can make


@dataclass(frozen=True, slots=True)
class Comprehension:
    """What macros like ``all`` become: a fold over a list or the keys of a map."""

    type: Type
    variable: str
    second: str  # the other variable of two, "" for one
    range: Node
    accumulator: str
    initial: Node
    condition: Node
    step: Node
    result: Node


Node = Constant | Identifier | Select | Call | MakeList | MakeMap | Comprehension


@dataclass(frozen=True, slots=True)
class Tree:
    node: Node
    _offsets: dict[int, int]  # by the id() of nodes, which the tree keeps alive

    def offset(self, node: Node) -> int:
        """Where a part of the tree stands in the text, in characters."""
        return self._offsets.get(id(node), 0)


def read(serialized: bytes, names: Mapping[str, str] | None = None) -> Tree:
    """The tree in an ``Any`` that holds a CheckedExpr. ``names``: what types are really called."""
    checked = _Message(_Message(serialized).bytes(2))
    called = names or {}
    reader = _Reader(
        types={number: _type(body, called) for number, body in _entries(checked, 3)},
        names=called,
        overloads={
            number: tuple(part.decode() for part in _Message(body).every(3))
            for number, body in _entries(checked, 2)
        },
        offsets=dict(_positions(_Message(checked.bytes(5)))),
    )
    return Tree(reader.node(checked.bytes(4)), reader.found_at)


def read_parsed(serialized: bytes) -> Tree:
    """The tree in an ``Any`` that holds a ParsedExpr: no types are known."""
    parsed = _Message(_Message(serialized).bytes(2))
    reader = _Reader({}, {}, {}, dict(_positions(_Message(parsed.bytes(3)))))
    return Tree(reader.node(parsed.bytes(2)), reader.found_at)


def walk(node: Node) -> Iterator[Node]:
    yield node
    for child in children(node):
        yield from walk(child)


def children(node: Node) -> Iterator[Node]:
    match node:
        case Select():
            yield node.operand
        case Call():
            yield from node.operands
        case MakeList():
            yield from node.elements
        case MakeMap():
            for entry in node.entries:
                yield entry.key
                yield entry.value
        case Comprehension():
            yield from (node.range, node.initial, node.condition, node.step, node.result)
        case Constant() | Identifier():
            pass


class _Message:
    """The fields of one protobuf message."""

    __slots__ = ("_fields",)

    def __init__(self, body: bytes) -> None:
        self._fields: dict[int, list[int | bytes]] = {}
        at = 0
        while at < len(body):
            tag, at = read_varint(body, at)
            value: int | bytes
            if tag & 7 == 0:
                value, at = read_varint(body, at)
            else:
                size = 8
                if tag & 7 == 2:
                    size, at = read_varint(body, at)
                value = body[at : at + size]
                at += size
            self._fields.setdefault(tag >> 3, []).append(value)

    def __contains__(self, number: int) -> bool:
        return number in self._fields

    def every(self, number: int) -> list[bytes]:
        return [one for one in self._fields.get(number, ()) if isinstance(one, bytes)]

    def bytes(self, number: int) -> bytes:
        found = self.every(number)
        return found[-1] if found else b""

    def number(self, number: int) -> int:
        found = self._fields.get(number)
        return found[-1] if found and isinstance(found[-1], int) else 0

    def text(self, number: int) -> str:
        return self.bytes(number).decode()

    def numbers(self, number: int) -> Iterator[int]:
        for one in self._fields.get(number, ()):
            if isinstance(one, int):
                yield one
                continue
            at = 0
            while at < len(one):  # packed
                value, at = read_varint(one, at)
                yield value


def _entries(message: _Message, number: int) -> Iterator[tuple[int, bytes]]:
    for body in message.every(number):
        entry = _Message(body)
        yield entry.number(1), entry.bytes(2)


def _positions(source: _Message) -> Iterator[tuple[int, int]]:
    for body in source.every(4):
        entry = _Message(body)
        yield entry.number(1), entry.number(2)


def _type(body: bytes, names: Mapping[str, str]) -> Type:
    message = _Message(body)
    if 3 in message:
        return Type(_PRIMITIVES[message.number(3)])
    if 4 in message:
        return Type("wrapper", (Type(_PRIMITIVES[message.number(4)]),))
    if 5 in message:
        return Type(_WELL_KNOWN[message.number(5)])
    if 6 in message:
        return Type("list", (_type(_Message(message.bytes(6)).bytes(1), names),))
    if 7 in message:
        entry = _Message(message.bytes(7))
        return Type("map", (_type(entry.bytes(1), names), _type(entry.bytes(2), names)))
    if 9 in message:
        name = message.text(9)
        return Type(names.get(name, name))
    if 14 in message:
        abstract = _Message(message.bytes(14))
        return Type(abstract.text(1), tuple(_type(part, names) for part in abstract.every(2)))
    if 2 in message:
        return Type("null")
    if 11 in message:
        return Type("type", (_type(message.bytes(11), names),))
    return DYN


class _Reader:
    def __init__(
        self,
        types: dict[int, Type],
        names: Mapping[str, str],
        overloads: dict[int, tuple[str, ...]],
        offsets: dict[int, int],
    ) -> None:
        self._types = types
        self._names = names
        self._overloads = overloads
        self._offsets = offsets
        self.found_at: dict[int, int] = {}
        self._depth = 0

    def node(self, body: bytes) -> Node:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise TooDeep
        message = _Message(body)
        found = self._node(message)
        self.found_at[id(found)] = self._offsets.get(message.number(2), 0)
        self._depth -= 1
        return found

    def _node(self, message: _Message) -> Node:
        number = message.number(2)
        kind = self._types.get(number, DYN)
        if 3 in message:
            return Constant(kind, _constant(_Message(message.bytes(3))))
        if 4 in message:
            return Identifier(kind, _Message(message.bytes(4)).text(1))
        if 5 in message:
            part = _Message(message.bytes(5))
            operand = self.node(part.bytes(1))
            return Select(kind, operand, part.text(2), bool(part.number(3)))
        if 6 in message:
            return self._call(_Message(message.bytes(6)), kind, number)
        if 7 in message:
            part = _Message(message.bytes(7))
            elements = tuple(self.node(one) for one in part.every(1))
            return MakeList(kind, elements, frozenset(part.numbers(2)))
        if 8 in message:
            return self._map(_Message(message.bytes(8)), kind)
        return self._comprehension(_Message(message.bytes(9)), kind)

    def _call(self, part: _Message, kind: Type, number: int) -> Call:
        return Call(
            kind,
            part.text(2),
            self.node(part.bytes(1)) if 1 in part else None,
            tuple(self.node(one) for one in part.every(3)),
            self._overloads.get(number, ()),
        )

    def _map(self, part: _Message, kind: Type) -> MakeMap:
        entries: list[MapEntry] = []
        for body in part.every(2):
            entry = _Message(body)
            named = Constant(Type("string"), entry.text(2))
            key = self.node(entry.bytes(3)) if 3 in entry else named
            entries.append(MapEntry(key, self.node(entry.bytes(4)), bool(entry.number(5))))
        message = part.text(1)
        return MakeMap(kind, tuple(entries), self._names.get(message, message))

    def _comprehension(self, part: _Message, kind: Type) -> Comprehension:
        return Comprehension(
            kind,
            variable=part.text(1),
            second=part.text(8),
            range=self.node(part.bytes(2)),
            accumulator=part.text(3),
            initial=self.node(part.bytes(4)),
            condition=self.node(part.bytes(5)),
            step=self.node(part.bytes(6)),
            result=self.node(part.bytes(7)),
        )


def _constant(message: _Message) -> Any:
    if 2 in message:
        return bool(message.number(2))
    if 3 in message:
        return signed(message.number(3))
    if 4 in message:
        return Uint(message.number(4))
    if 5 in message:
        return struct.unpack("<d", message.bytes(5))[0]
    if 6 in message:
        return message.text(6)
    return message.bytes(7) if 7 in message else None
