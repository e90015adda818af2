"""The classes of ``api.kinds`` in a running program: constructors, and answers to ``isinstance``.

``Pod(spec=…)`` makes a ``KubeObject``, ``PodSpec(containers=…)`` a read-only view; neither is an
instance in Python's sense, because objects from a server are made without asking for their class.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from proreus.api.frozen import FrozenMapping, thaw
from proreus.api.json_types import JsonObject
from proreus.api.kinds.fields import check_fields, field_name, known
from proreus.api.object import KubeObject


class PartClass(type):
    """Of a type inside of objects, such as a container."""

    type_name: str

    def __call__(cls, **fields: Any) -> Any:
        return FrozenMapping(_content(cls.type_name, fields), cls.type_name)

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, FrozenMapping) and value.type_name() == cls.type_name

    def __repr__(cls) -> str:
        return f"<type {cls.type_name}>"


class KindClass(PartClass):
    """Of a kind, which has objects of its own."""

    api_version: str
    kind: str

    @property
    def __resource__(cls) -> str:
        """As clients name it: ``deployment.v1.apps``."""
        group, _, version = cls.api_version.rpartition("/")
        return f"{cls.kind.lower()}.{version}" + (f".{group}" if group else "")

    def __call__(cls, **fields: Any) -> Any:
        head = {"apiVersion": cls.api_version, "kind": cls.kind}
        return KubeObject.from_dict(head | _content(cls.type_name, fields))

    def __instancecheck__(cls, value: object) -> bool:
        return (
            isinstance(value, KubeObject)
            and value.kind == cls.kind
            and value.api_version == cls.api_version
        )


@lru_cache(maxsize=1024)
def class_of(module: str, name: str) -> PartClass:
    """Raises AttributeError for a name that is no type, as a module does."""
    type_name = f"{module}.{name}"
    if type_name not in known().types:
        raise AttributeError(f"module 'proreus.api.kinds.{module}' has no attribute {name!r}")
    attributes: dict[str, object] = {
        "__slots__": (),
        "__module__": f"proreus.api.kinds.{module}",
        "type_name": type_name,
    }
    for kind, its_type in known().kinds.items():
        if its_type == type_name:
            api_version, _, said = kind.rpartition("/")
            return KindClass(name, (), {**attributes, "api_version": api_version, "kind": said})
    return PartClass(name, (), attributes)


def class_names(module: str) -> list[str]:
    return sorted(
        name for one in known().types for found, _, name in [one.partition(".")] if found == module
    )


def _content(type_name: str, fields: dict[str, Any]) -> JsonObject:
    check_fields(type_name, fields)
    return {field_name(key): thaw(value) for key, value in fields.items() if value is not None}
