"""Shapes as types that the checker's library knows: objects become messages of a descriptor file.

Where protobuf has no such type (a list of lists inside of an object) it is ``dyn``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import count
from typing import Any

from proreus.server.cel.initializers import PATCH, PATCH_TEXTS, PATCH_VALUE, ROOT, Spelling
from proreus.server.cel.names import spellings
from proreus.server.cel.shapes import ShapeKind, ValueShape
from proreus.server.cel.signatures import OPAQUE

PACKAGE = "proreus.rules"
WORD = re.compile(r"[A-Za-z_]\w*")
_SCALARS = {
    ShapeKind.BOOL: "bool",
    ShapeKind.INT: "int",
    ShapeKind.DOUBLE: "double",
    ShapeKind.STRING: "string",
    ShapeKind.BYTES: "bytes",
}


class MessageTypes:
    """The types of one checker. ``objects``: the shapes behind the names of messages."""

    def __init__(self, mentioned: frozenset[str] | None) -> None:
        from google.protobuf import descriptor_pb2

        self._mentioned = mentioned
        self._made: Any = None
        self._messages: dict[int, str] = {}  # by the id() of shapes, which the variables hold
        self.objects: dict[str, ValueShape] = {}  # by the full name of their message
        self._field = descriptor_pb2.FieldDescriptorProto
        self._file = descriptor_pb2.FileDescriptorProto(
            name="rules.proto",
            package=PACKAGE,
            syntax="proto2",
            dependency=[f"google/protobuf/{name}.proto" for name in ("duration", "struct",
                                                                     "timestamp")],
        )  # fmt: skip
        self._numbers = count()

    def declare_made(self, spelling: Spelling) -> None:
        """The types that a text makes objects of: they have every field that it mentions."""
        from google.protobuf import descriptor_pb2

        file = self._made = descriptor_pb2.FileDescriptorProto(
            name="made.proto", syntax="proto2", dependency=["google/protobuf/struct.proto"]
        )
        words = sorted(set(WORD.findall(spelling.text)))
        for name in (ROOT, *spelling.types):
            self._add_fields(file.message_type.add(name=name), words)
        patch = file.message_type.add(name=PATCH)
        self._add_fields(patch, (*PATCH_TEXTS, PATCH_VALUE))
        for field in patch.field:
            if field.name in PATCH_TEXTS:
                field.ClearField("type_name")
                field.type = self._field.TYPE_STRING

    def _add_fields(self, message: Any, names: Iterable[str]) -> None:
        message.options.deprecated_legacy_json_field_conflicts = True
        for number, name in enumerate(names, start=1):
            field = message.field.add(
                name=name, number=number, json_name=f"f{number}", label=self._field.LABEL_OPTIONAL
            )
            self._point(field, "google.protobuf.Value")

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
        if self._made is not None:
            pool.Add(self._made)
        return pool

    def spelled(self, shape: ValueShape) -> str:
        match shape.kind:
            case ShapeKind.LIST:
                return f"list<{self.spelled(_element(shape))}>"
            case ShapeKind.MAP:
                return f"map<string,{self.spelled(_element(shape))}>"
            case ShapeKind.OBJECT:
                return self._message(shape)
            case ShapeKind.OPAQUE:
                return shape.type_name
            case _:
                return str(shape.kind.value)

    def _message(self, shape: ValueShape) -> str:
        """One per shape: values of one type can be compared wherever they stand."""
        if (known := self._messages.get(id(shape))) is not None:
            return known
        name = shape.type_name.replace(".", "__") or f"Object{next(self._numbers)}"
        self._messages[id(shape)] = f"{PACKAGE}.{name}"
        message = self._file.message_type.add(name=name)
        message.options.deprecated_legacy_json_field_conflicts = True  # we have no JSON names
        self.objects[f"{PACKAGE}.{name}"] = shape
        words = self._mentioned
        seen = [
            (name, one)
            for spelled, one in shape.fields.items()
            for name in spellings(spelled)
            if (words is None or name in words) and (name == spelled or name not in shape.fields)
        ]
        for number, (spelled, one) in enumerate(seen, start=1):
            field = message.field.add(
                name=spelled, number=number, json_name=f"f{number}",
                label=self._field.LABEL_OPTIONAL,
            )  # fmt: skip
            self._fill(message, field, one.shape)
        return f"{PACKAGE}.{name}"

    def _fill(self, message: Any, field: Any, shape: ValueShape) -> None:
        element = shape.element
        if element is not None and element.kind in (ShapeKind.LIST, ShapeKind.MAP):
            self._point(field, "google.protobuf.Value")
        elif shape.kind is ShapeKind.LIST:
            field.label = self._field.LABEL_REPEATED
            self._fill(message, field, _element(shape))
        elif shape.kind is ShapeKind.MAP:
            self._fill_map(message, field, _element(shape))
        else:
            self._fill_single(field, shape)

    def _fill_single(self, field: Any, shape: ValueShape) -> None:
        match shape.kind:
            case ShapeKind.OBJECT:
                self._point(field, self._message(shape))
            case ShapeKind.TIMESTAMP:
                self._point(field, "google.protobuf.Timestamp")
            case ShapeKind.DURATION:
                self._point(field, "google.protobuf.Duration")
            case ShapeKind.ANY:
                self._point(field, "google.protobuf.Value")
            case ShapeKind.OPAQUE:
                self._point(field, shape.type_name)
            case kind:
                word = {"int": "INT64"}.get(_SCALARS[kind], _SCALARS[kind].upper())
                field.type = getattr(self._field, f"TYPE_{word}")

    def _fill_map(self, message: Any, field: Any, element: ValueShape) -> None:
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


def _element(shape: ValueShape) -> ValueShape:
    assert shape.element is not None
    return shape.element
