"""A custom resource's schema as a tree: parsed once, walked by pruning, defaults and validation.

Structural schemas say the type of every field outside of ``allOf`` and its siblings; what these
add are value checks, which stay in ``raw`` and concern only ``validate``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from proreus.api.typed import ListType, Shape, TypeNode
from proreus.server.schema.definitions import OBJECT_META, Definitions

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
    list_type: str
    list_map_keys: tuple[str, ...]
    is_atomic_map: bool
    has_defaults: bool  # here or anywhere below
    has_rules: bool

    def child(self, key: str) -> Structural | None:
        found = self.properties.get(key)
        if found is None and isinstance(self.values, Structural):
            return self.values
        return found


def parse(raw: Mapping[str, Any]) -> Structural:
    """Any schema that is one, structural or not: what is odd is reported by ``schema_rules``."""
    properties = {
        key: parse(value)
        for key, value in (raw.get("properties") or {}).items()
        if isinstance(value, dict)
    }
    given_items = raw.get("items")
    items = parse(given_items) if isinstance(given_items, dict) else None
    more = raw.get("additionalProperties")
    values = parse(more) if isinstance(more, dict) else more
    default = raw.get("default", MISSING)
    below = [*properties.values()]
    below += [items] if items is not None else []
    below += [values] if isinstance(values, Structural) else []
    return Structural(
        raw=raw,
        type=raw.get("type") or "",
        properties=properties,
        items=items,
        values=values,
        nullable=bool(raw.get("nullable")),
        int_or_string=bool(raw.get("x-kubernetes-int-or-string")),
        preserves_unknown=bool(raw.get("x-kubernetes-preserve-unknown-fields")),
        is_embedded=bool(raw.get("x-kubernetes-embedded-resource")),
        default=MISSING if default is None else default,
        list_type=raw.get("x-kubernetes-list-type") or "",
        list_map_keys=tuple(raw.get("x-kubernetes-list-map-keys") or ()),
        is_atomic_map=raw.get("x-kubernetes-map-type") == "atomic",
        has_defaults=default not in (MISSING, None) or any(node.has_defaults for node in below),
        has_rules=bool(raw.get("x-kubernetes-validations")) or any(n.has_rules for n in below),
    )


def type_node(schema: Structural, name: str = "") -> TypeNode:
    """The root's shape, as apply and tracking need it."""
    fields = {key: _node(child) for key, child in schema.properties.items()}
    fields |= _type_fields()
    return TypeNode(
        Shape.OBJECT,
        name,
        properties=lambda: fields,
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
        element = _node(schema.values)
        return TypeNode(
            Shape.MAP,
            element=lambda: element,
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
    fields = {key: _node(child) for key, child in schema.properties.items()}
    if schema.is_embedded:
        fields |= _type_fields()
    return TypeNode(
        Shape.OBJECT,
        properties=lambda: fields,
        nullable=True,
        preserve_unknown=schema.preserves_unknown,
        atomic_map=schema.is_atomic_map,
    )


def _list(schema: Structural) -> TypeNode:
    element = _node(schema.items) if schema.items else TypeNode(Shape.ANY, nullable=True)
    return TypeNode(
        Shape.LIST,
        element=lambda: element,
        nullable=True,
        list_type=ListType(schema.list_type or "atomic"),
        list_map_keys=schema.list_map_keys,
    )


def _plain_default(schema: Structural) -> object:
    return None if schema.default is MISSING else schema.default


def _type_fields() -> dict[str, TypeNode]:
    return {
        "apiVersion": TypeNode(Shape.STRING, nullable=True),
        "kind": TypeNode(Shape.STRING, nullable=True),
        "metadata": Definitions.load().named(OBJECT_META),
    }
