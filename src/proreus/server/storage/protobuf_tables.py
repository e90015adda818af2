"""Protobuf messages from a table of names, numbers and types, without generated code.

Built into a descriptor pool of their own: another client of the same service in the same process
brings the same names, and the shared pool refuses them twice. Fields that a newer peer sends beyond
those in a table are skipped by protobuf.

Enums are written as numbers, one-of groups as plain fields, maps as repeated entries: the bytes are
the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_FIELD = descriptor_pb2.FieldDescriptorProto
_SCALARS = {
    "bytes": _FIELD.TYPE_BYTES,
    "int64": _FIELD.TYPE_INT64,
    "uint64": _FIELD.TYPE_UINT64,
    "bool": _FIELD.TYPE_BOOL,
    "string": _FIELD.TYPE_STRING,
    "int32": _FIELD.TYPE_INT32,
}


def message_classes(package: str, table: Mapping[str, str]) -> Callable[[str], Any]:
    """Finds the class of a message by its name. The classes are made at run time: hence Any.

    ``table`` has a message's fields as ``name:number:type`` with a star for repeated ones; a type
    is one of the scalars above or another message.
    """
    file = descriptor_pb2.FileDescriptorProto(
        name=f"proreus/{package}.proto", package=package, syntax="proto3"
    )
    for name, fields in table.items():
        message = file.message_type.add(name=name)
        for field in fields.split():
            field_name, number, kind = field.split(":")
            added = message.field.add(name=field_name, number=int(number))
            added.label = _FIELD.LABEL_REPEATED if kind[-1] == "*" else _FIELD.LABEL_OPTIONAL
            kind = kind.rstrip("*")
            if kind in _SCALARS:
                added.type = _SCALARS[kind]
            else:
                added.type = _FIELD.TYPE_MESSAGE
                added.type_name = f".{package}.{kind}"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)

    def found(name: str) -> Any:
        return message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{package}.{name}"))

    return found
