"""The schemas a document needs: those its paths name, and all that these refer to.

Definitions say nothing of zero defaults and enumerations; a real server adds both, so they are
added here, from the facts about Kubernetes' types that the schema package has.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from proreus.api.group_version import GroupVersionKind
from proreus.api.typed import Shape, TypeNode
from proreus.server.discovery.openapi.enums import ENUMS, REAL_DEFAULTS
from proreus.server.schema.presence import Presence, presence

REF = "#/components/schemas/"
_ZERO: dict[Shape, Any] = {
    Shape.STRING: "",
    Shape.INTEGER: 0,
    Shape.NUMBER: 0,
    Shape.BOOLEAN: False,
}


class SchemaSource(Protocol):
    """Where definitions come from: the built-in ones, later those of custom resources too."""

    def name_of(self, gvk: GroupVersionKind) -> str | None: ...

    def raw(self, name: str) -> dict[str, Any]: ...

    def named(self, name: str) -> TypeNode: ...


def closure(names: Iterable[str], source: SchemaSource) -> dict[str, Any]:
    """Every schema reachable from these, in order of name, as a real server shows it."""
    found: dict[str, Any] = {}
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        schema = source.raw(name)
        found[name] = _completed(name, schema, source)
        waiting += references(schema)
    return dict(sorted(found.items()))


def references(schema: Any) -> list[str]:
    """The names of definitions a schema refers to."""
    found: list[str] = []
    waiting = [schema]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            reference = value.get("$ref")
            if isinstance(reference, str):
                found.append(reference.removeprefix(REF))
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
    return found


def _completed(name: str, schema: dict[str, Any], source: SchemaSource) -> dict[str, Any]:
    properties = schema.get("properties")
    if not properties:
        return schema
    node = source.named(name)
    kind = name.rpartition(".")[2]
    fields = {key: _field(node, kind, key, field) for key, field in properties.items()}
    return {**schema, "properties": fields}


def _field(owner: TypeNode, kind: str, key: str, schema: Mapping[str, Any]) -> Mapping[str, Any]:
    more: dict[str, Any] = {}
    if values := ENUMS.get((kind, key)):
        more["enum"] = list(values)
    if (kind, key) in REAL_DEFAULTS:
        more["default"] = REAL_DEFAULTS[kind, key]
    elif (zero := _zero(owner, key)) is not None:
        more["default"] = zero
    return {**schema, **more} if more else schema


def _zero(owner: TypeNode, key: str) -> Any:
    node = owner.field_of(key)
    if node is None:
        return None
    if node.shape in _ZERO:
        return _ZERO[node.shape] if key in owner.required else None
    always = node.shape is Shape.OBJECT and presence(owner, key, node) is Presence.ALWAYS
    return {} if always else None
