"""The shape of a kind, as patches, apply and decoding need it: a tree of nodes.

Built from the built-in definitions or from a custom resource's schema; the consumers
(``api.patch``, ``server.schema``) do not know which. A node may refer to itself (JSON schemas in
CRDs do), so children are resolved on first use.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from enum import StrEnum
from typing import Any, Protocol

from proreus.api.json_types import JsonObject
from proreus.lazy_dataclass import dataclass


class Shape(StrEnum):
    """What JSON value a node takes."""

    OBJECT = "object"  # named properties
    MAP = "map"  # any keys, values of one node
    LIST = "list"
    STRING = "string"
    INTEGER = "integer"
    NUMBER = "number"
    BOOLEAN = "boolean"
    INT_OR_STRING = "int-or-string"
    QUANTITY = "quantity"  # a string or a number
    TIME = "time"  # RFC 3339 string, or null
    MICRO_TIME = "micro-time"
    BYTES = "bytes"  # base64 string
    ANY = "any"  # unchecked JSON: RawExtension, FieldsV1, JSON, preserve-unknown-fields


class ListType(StrEnum):
    """How apply merges a list (server.md §6.5)."""

    ATOMIC = "atomic"
    SET = "set"
    MAP = "map"


class ObjectDecoding(Protocol):
    def __call__(self, value: Any, *, is_text: bool = True) -> tuple[JsonObject, list[str]]:
        """The object and its unknown fields. Not ``is_text``: the values were decoded already."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class TypeNode:
    """One field's type. Only the attributes of its shape are set.

    ``properties`` is a callable for OBJECT so that recursive and rarely used parts of a schema
    cost nothing until walked; use ``field_of``.
    """

    shape: Shape
    name: str = ""  # the definition's name, e.g. io.k8s.api.core.v1.PodSpec
    properties: Callable[[], Mapping[str, TypeNode]] | None = None
    element: Callable[[], TypeNode] | None = None  # of LIST and MAP
    required: frozenset[str] = frozenset()
    nullable: bool = False
    preserve_unknown: bool = False  # OBJECT that keeps fields it does not declare
    # structured merge (apply)
    list_type: ListType = ListType.ATOMIC
    list_map_keys: tuple[str, ...] = ()
    atomic_map: bool = False  # x-kubernetes-map-type: atomic, for OBJECT and MAP
    # strategic merge
    patch_strategies: frozenset[str] = frozenset()  # merge, replace, retainKeys
    patch_merge_key: str = ""
    # checks
    format: str = ""  # int32, int64, double, ...
    enum: tuple[str, ...] = ()
    default: object = field(default=None)  # the schema's own default, None: none
    # custom kinds: a body → the object and its unknown fields, by rules of their own
    decode: ObjectDecoding | None = None

    def field_of(self, key: str) -> TypeNode | None:
        """The node below ``key``, None if the key is not declared here."""
        match self.shape:
            case Shape.OBJECT:
                return self.properties().get(key) if self.properties else None
            case Shape.MAP:
                return self.element() if self.element else None
            case _:
                return None

    def __repr__(self) -> str:
        return f"<TypeNode {self.name or self.shape}>"
