"""The CEL library: parses expressions and checks their types.

It checks and does not run: its evaluator can neither be stopped nor asked what it spent, and
copies every value in. Object types reach its checker as protobuf messages, one per object of the
schema; where protobuf has no such type (a list of lists inside of an object) it is ``dyn``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from importlib.util import find_spec
from itertools import count
from typing import Any

from proreus.server.custom.cel.shapes import Kind, Shape
from proreus.server.custom.cel.signatures import OPAQUE, Signature, signatures
from proreus.server.custom.cel.syntax import (
    Call,
    Identifier,
    MakeList,
    MakeMap,
    Node,
    TooDeep,
    children,
    read,
    walk,
)

PACKAGE = "proreus.rules"
_CONFIGURATION = """
name: kubernetes
extensions:
- name: optional
- name: strings
- name: sets
- name: encoders
- name: two-var-comprehensions
"""
_CODE = re.compile(r"^[A-Z_]+: (?=ERROR)|\s*\[INVALID_ARGUMENT\]$")
_WORDS = (
    (re.compile(r"undefined field '([^']*)' not found in struct '[^']*'"), r"undefined field '\1'"),
    (re.compile(r"expression of type '(.*)' cannot be the operand of a select operation"),
     r"type '\1' does not support field selection"),
    (re.compile(r"\bgoogle\.protobuf\.Timestamp\b"), "timestamp"),
    (re.compile(r"\bgoogle\.protobuf\.Duration\b"), "duration"),
    (re.compile(r"cannot be the range of a comprehension"), "cannot be range of a comprehension"),
    (re.compile(rf"\b{re.escape(PACKAGE)}\.\w+"), "object"),
)  # fmt: skip
# These macros write what they are called on twice, and so on for every one behind another.
_DOUBLING = re.compile(r"\.\s*opt(?:Flat)?Map\s*\(")
_DOUBLINGS_MAX = 6
_OPTIONAL_OLD = "__oldSelf__"
_OLD_SELF = re.compile(r"(?<![\w.])oldSelf\b")
_WORD = re.compile(r"[A-Za-z_]\w*")
_SCALARS = {
    Kind.BOOL: "bool",
    Kind.INT: "int",
    Kind.DOUBLE: "double",
    Kind.STRING: "string",
    Kind.BYTES: "bytes",
}


class CheckError(Exception):
    """An expression that is not well formed, in the checker's words."""


def is_available() -> bool:
    return find_spec("cel_expr_python") is not None and find_spec("google.protobuf") is not None


class Checker:
    """Checks expressions about values of one shape."""

    __slots__ = ("_environment", "objects")

    def __init__(self, shape: Shape | None, texts: Iterable[str] = ()) -> None:
        """``texts``: what will be checked; only fields that are mentioned need declaring."""
        from cel_expr_python import cel

        types = _Types(frozenset(word for text in texts for word in _WORD.findall(text)))
        self_type = cel.Type(types.spelled(shape) if shape is not None else "dyn")
        self.objects = types.objects
        self._environment = cel.NewEnv(
            descriptor_pool=types.pool(),
            config=_configuration(),
            variables=dict.fromkeys(("self", "oldSelf", _OPTIONAL_OLD), self_type),
            extensions=[_extension()],
        )

    def check(self, text: str, *, optional_old: bool = False) -> Node:
        """Raises CheckError. With ``optional_old`` the former value is an optional."""
        if len(_DOUBLING.findall(text)) > _DOUBLINGS_MAX:
            raise CheckError("expression is nested too deep")
        if optional_old:
            # A variable cannot be declared optional; a call can be, and is taken out again below.
            text = _OLD_SELF.sub(f"optional.of({_OPTIONAL_OLD})", text)
        try:
            node = read(self._environment.compile(text).serialize())
            _refuse_odd(node)
        except TooDeep as error:
            raise CheckError("expression is nested too deep") from error
        except RuntimeError as error:
            raise CheckError(_worded(str(error))) from error
        return node


def uses_old_self(node: Node) -> bool:
    names = {part.name for part in walk(node) if isinstance(part, Identifier)}
    return not names.isdisjoint(("oldSelf", _OPTIONAL_OLD))


def is_optional_old(node: Call) -> bool:
    """Whether a call stands for the former value, which may be absent."""
    return (
        node.function == "optional.of"
        and len(node.arguments) == 1
        and isinstance(node.arguments[0], Identifier)
        and node.arguments[0].name == _OPTIONAL_OLD
    )


def _refuse_odd(node: Node) -> None:
    """What Kubernetes' checker is stricter about: objects of named types, lists of mixed ones."""
    if isinstance(node, MakeMap) and node.message:
        raise CheckError(f"undeclared reference to '{node.message}' (in container '')")
    if isinstance(node, Call) and node.function == "format":
        return  # its arguments are a list of anything
    if isinstance(node, MakeList) and not node.optional:
        _refuse_mixed([element.type.name for element in node.elements])
    for child in children(node):
        _refuse_odd(child)


def _refuse_mixed(kinds: list[str]) -> None:
    odd = next((kind for kind in kinds if kind != kinds[0]), None)
    if odd is not None and "dyn" not in (odd, kinds[0]):
        raise CheckError(f"expected type '{kinds[0]}' but found '{odd}'")


def _worded(text: str) -> str:
    """As cel-go says it."""
    text = _CODE.sub("", text)
    for pattern, said in _WORDS:
        text = pattern.sub(said, text)
    return text


@lru_cache(maxsize=1)
def _configuration() -> Any:
    from cel_expr_python import cel

    return cel.NewEnvConfigFromYaml(_CONFIGURATION)


@lru_cache(maxsize=1)
def _extension() -> Any:
    from cel_expr_python import cel

    by_name: dict[str, list[Any]] = {}
    for number, one in enumerate(signatures()):
        by_name.setdefault(one.function, []).append(_overload(cel, number, one))
    return cel.CelExtension("kubernetes", [cel.FunctionDecl(*both) for both in by_name.items()])


def _overload(cel: Any, number: int, one: Signature) -> Any:
    spelled = "_".join(one.parameters) or "none"
    return cel.Overload(
        id=f"k{number}_{one.function}_{spelled}",
        return_type=_library_type(cel, one.result),
        parameters=[_library_type(cel, kind) for kind in one.parameters],
        is_member=one.is_member,
    )


def _library_type(cel: Any, spelled: str) -> Any:
    if spelled.startswith("optional_type<"):
        inner = spelled.removeprefix("optional_type<").removesuffix(">")
        return cel.Type.AbstractType("optional_type", [_library_type(cel, inner)])
    return cel.Type(spelled)


class _Types:
    """Shapes as types the library knows: objects become messages of one descriptor file."""

    def __init__(self, mentioned: frozenset[str]) -> None:
        from google.protobuf import descriptor_pb2

        self._mentioned = mentioned
        self.objects: dict[str, Shape] = {}  # by the full name of their message
        self._field = descriptor_pb2.FieldDescriptorProto
        self._file = descriptor_pb2.FileDescriptorProto(
            name="rules.proto",
            package=PACKAGE,
            syntax="proto2",
            dependency=[f"google/protobuf/{name}.proto" for name in ("duration", "struct",
                                                                     "timestamp")],
        )  # fmt: skip
        self._numbers = count()

    def pool(self) -> Any:
        from google.protobuf import (
            descriptor_pb2,
            descriptor_pool,
            duration_pb2,
            struct_pb2,
            timestamp_pb2,
        )

        pool = descriptor_pool.DescriptorPool()
        for module in (duration_pb2, struct_pb2, timestamp_pb2):
            known = descriptor_pb2.FileDescriptorProto()
            module.DESCRIPTOR.CopyToProto(known)
            pool.Add(known)
        for name in OPAQUE:  # types without fields, which only functions make and take
            package, _, message = name.rpartition(".")
            own = descriptor_pb2.FileDescriptorProto(name=f"{name}.proto", package=package)
            own.message_type.add(name=message)
            pool.Add(own)
        pool.Add(self._file)
        return pool

    def spelled(self, shape: Shape) -> str:
        match shape.kind:
            case Kind.LIST:
                return f"list<{self.spelled(_element(shape))}>"
            case Kind.MAP:
                return f"map<string,{self.spelled(_element(shape))}>"
            case Kind.OBJECT:
                return self._message(shape)
            case _:
                return str(shape.kind.value)

    def _message(self, shape: Shape) -> str:
        name = f"Object{next(self._numbers)}"
        message = self._file.message_type.add(name=name)
        message.options.deprecated_legacy_json_field_conflicts = True  # we have no JSON names
        self.objects[f"{PACKAGE}.{name}"] = shape
        seen = [pair for pair in shape.fields.items() if pair[0] in self._mentioned]
        for number, (spelled, one) in enumerate(seen, start=1):
            field = message.field.add(
                name=spelled, number=number, json_name=f"f{number}",
                label=self._field.LABEL_OPTIONAL,
            )  # fmt: skip
            self._fill(message, field, one.shape)
        return f"{PACKAGE}.{name}"

    def _fill(self, message: Any, field: Any, shape: Shape) -> None:
        element = shape.element
        if element is not None and element.kind in (Kind.LIST, Kind.MAP):
            self._point(field, "google.protobuf.Value")
        elif shape.kind is Kind.LIST:
            field.label = self._field.LABEL_REPEATED
            self._fill(message, field, _element(shape))
        elif shape.kind is Kind.MAP:
            self._fill_map(message, field, _element(shape))
        else:
            self._fill_single(field, shape)

    def _fill_single(self, field: Any, shape: Shape) -> None:
        match shape.kind:
            case Kind.OBJECT:
                self._point(field, self._message(shape))
            case Kind.TIMESTAMP:
                self._point(field, "google.protobuf.Timestamp")
            case Kind.DURATION:
                self._point(field, "google.protobuf.Duration")
            case Kind.ANY:
                self._point(field, "google.protobuf.Value")
            case kind:
                word = {"int": "INT64"}.get(_SCALARS[kind], _SCALARS[kind].upper())
                field.type = getattr(self._field, f"TYPE_{word}")

    def _fill_map(self, message: Any, field: Any, element: Shape) -> None:
        """A map is a list of a nested message, whose name is prescribed and may be taken."""
        words = field.name.split("_")
        name = "".join(word[:1].upper() + word[1:] for word in words) + "Entry"
        if any(other.name == name for other in message.nested_type):
            self._point(field, "google.protobuf.Value")
            return
        entry = message.nested_type.add(name=name)
        entry.options.map_entry = True
        single = self._field.LABEL_OPTIONAL
        entry.field.add(name="key", number=1, label=single, type=self._field.TYPE_STRING)
        self._fill_single(entry.field.add(name="value", number=2, label=single), element)
        field.label = self._field.LABEL_REPEATED
        self._point(field, f"{PACKAGE}.{message.name}.{name}")

    def _point(self, field: Any, name: str) -> None:
        field.type = self._field.TYPE_MESSAGE
        field.type_name = f".{name}"


def _element(shape: Shape) -> Shape:
    assert shape.element is not None
    return shape.element
