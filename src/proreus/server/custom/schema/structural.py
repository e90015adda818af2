"""A custom resource's schema as a tree: parsed once, walked by pruning, defaults and validation.

Structural schemas say the type of every field outside of ``allOf`` and its siblings; what these
add are value checks, which stay in ``raw`` and concern only ``validate``.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, lru_cache
from types import MappingProxyType
from typing import Any

from proreus.api.typed import ListType, Shape, TypeNode
from proreus.api.wire import json
from proreus.lazy_dataclass import dataclass
from proreus.server.schema.definitions import OBJECT_META, Definitions

_NOTHING: Mapping[str, Structural] = MappingProxyType({})
MISSING: Any = object()  # no default: null is one
TYPE_FIELDS = ("apiVersion", "kind", "metadata")
_SHAPES = {
    "string": Shape.STRING,
    "integer": Shape.INTEGER,
    "number": Shape.NUMBER,
    "boolean": Shape.BOOLEAN,
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Structural:
    """One node. ``values`` is the schema of a map's values, True for anything."""

    raw: Mapping[str, Any]
    type: str
    properties: Mapping[str, Structural]
    items: Structural | None
    values: Structural | bool | None
    nullable: bool
    int_or_string: bool
    preserves_unknown: bool
    is_embedded: bool
    default: Any
    default_bytes: int  # encoded
    list_type: str
    list_map_keys: tuple[str, ...]
    is_atomic_map: bool
    has_defaults: bool  # here or anywhere below
    has_rules: bool
    has_embedded: bool
    has_unique_lists: bool  # sets and maps

    def child(self, key: str) -> Structural | None:
        found = self.properties.get(key)
        if found is None and isinstance(self.values, Structural):
            return self.values
        return found


def parse(raw: Mapping[str, Any]) -> Structural:
    """Any schema that is one, structural or not: what is odd is reported by ``schema_rules``."""
    get = raw.get
    given = get("properties")
    properties = (
        {key: parse(value) for key, value in given.items() if isinstance(value, dict)}
        if given
        else _NOTHING
    )
    given_items = get("items")
    items = parse(given_items) if isinstance(given_items, dict) else None
    more = get("additionalProperties")
    values = parse(more) if isinstance(more, dict) else more
    default = get("default")
    has_defaults, has_rules = default is not None, bool(get("x-kubernetes-validations"))
    has_embedded = is_embedded = bool(get("x-kubernetes-embedded-resource"))
    list_type = get("x-kubernetes-list-type") or ""
    has_unique_lists = list_type in ("set", "map")
    for child in (*properties.values(), items, values):
        if isinstance(child, Structural):
            has_defaults = has_defaults or child.has_defaults
            has_rules = has_rules or child.has_rules
            has_embedded = has_embedded or child.has_embedded
            has_unique_lists = has_unique_lists or child.has_unique_lists
    return Structural(
        raw=raw,
        type=get("type") or "",
        properties=properties,
        items=items,
        values=values,
        nullable=bool(get("nullable")),
        int_or_string=bool(get("x-kubernetes-int-or-string")),
        preserves_unknown=bool(get("x-kubernetes-preserve-unknown-fields")),
        is_embedded=is_embedded,
        default=MISSING if default is None else default,
        default_bytes=0 if default is None else len(json.encode(default)),
        list_type=list_type,
        list_map_keys=tuple(get("x-kubernetes-list-map-keys") or ()),
        is_atomic_map=get("x-kubernetes-map-type") == "atomic",
        has_defaults=has_defaults,
        has_rules=has_rules,
        has_embedded=has_embedded,
        has_unique_lists=has_unique_lists,
    )


def parsed(raw: Mapping[str, Any]) -> Structural:
    """``parse``, cached: a definition is validated, and served right after."""
    return _parsed(json.encode(raw))


@lru_cache(maxsize=8)
def _parsed(encoded: bytes) -> Structural:
    return parse(json.decode(encoded))


def type_node(schema: Structural, name: str = "") -> TypeNode:
    """The root's shape, as apply and tracking need it; its parts are made when asked for."""
    return TypeNode(
        Shape.OBJECT,
        name,
        properties=cache(lambda: _fields(schema) | _type_fields()),
        nullable=True,
        preserve_unknown=schema.preserves_unknown,
    )


def _node(schema: Structural) -> TypeNode:
    if schema.int_or_string:
        return TypeNode(Shape.INT_OR_STRING, nullable=True)
    match schema.type:
        case "object":
            return _object(schema)
        case "array":
            return _list(schema)
        case kind if kind in _SHAPES:
            return TypeNode(_SHAPES[kind], nullable=True, default=_plain_default(schema))
        case _:
            return TypeNode(Shape.ANY, nullable=True)


def _object(schema: Structural) -> TypeNode:
    if isinstance(schema.values, Structural):
        values = schema.values
        return TypeNode(
            Shape.MAP,
            element=cache(lambda: _node(values)),
            nullable=True,
            atomic_map=schema.is_atomic_map,
        )
    if (
        not schema.properties
        and not schema.is_embedded
        and (schema.preserves_unknown or schema.values is True)
    ):
        anything = TypeNode(Shape.ANY, nullable=True)
        return TypeNode(
            Shape.MAP, element=lambda: anything, nullable=True, atomic_map=schema.is_atomic_map
        )
    more = _type_fields if schema.is_embedded else dict
    return TypeNode(
        Shape.OBJECT,
        properties=cache(lambda: _fields(schema) | more()),
        nullable=True,
        preserve_unknown=schema.preserves_unknown,
        atomic_map=schema.is_atomic_map,
    )


def _list(schema: Structural) -> TypeNode:
    items = schema.items
    return TypeNode(
        Shape.LIST,
        element=cache(lambda: _node(items) if items else TypeNode(Shape.ANY, nullable=True)),
        nullable=True,
        list_type=ListType(schema.list_type or "atomic"),
        list_map_keys=schema.list_map_keys,
    )


def _fields(schema: Structural) -> dict[str, TypeNode]:
    return {key: _node(child) for key, child in schema.properties.items()}


def _plain_default(schema: Structural) -> object:
    return None if schema.default is MISSING else schema.default


def _type_fields() -> dict[str, TypeNode]:
    return {
        "apiVersion": TypeNode(Shape.STRING, nullable=True),
        "kind": TypeNode(Shape.STRING, nullable=True),
        "metadata": Definitions.load().named(OBJECT_META),
    }
