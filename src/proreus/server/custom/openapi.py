"""Schemas of custom kinds as OpenAPI publishes them, beside the built-in definitions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from proreus.api.group_version import GroupVersionKind
from proreus.api.typed import Shape, TypeNode
from proreus.server.schema.definitions import OBJECT_META, Definitions

_REF = "#/components/schemas/"
_LIST_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta"
_KINDS = "x-kubernetes-group-version-kind"


def definition_name(gvk: GroupVersionKind) -> str:
    """``com.example.v1.Widget`` for example.com/v1 Widget."""
    reversed_group = ".".join(reversed(gvk.group.split(".")))
    return f"{reversed_group}.{gvk.version}.{gvk.kind}"


class PublishedSchemas:
    """Finds a definition by name, whether built in or custom."""

    def __init__(self) -> None:
        self._names: dict[GroupVersionKind, str] = {}
        self._raw: dict[str, dict[str, Any]] = {}
        self._nodes: dict[str, TypeNode] = {}

    def put(
        self, gvk: GroupVersionKind, list_kind: str, schema: Mapping[str, Any], node: TypeNode
    ) -> None:
        name = self._names[gvk] = definition_name(gvk)
        self._raw[name] = _published(gvk, schema)
        self._nodes[name] = node
        list_gvk = GroupVersionKind(gvk.group, gvk.version, list_kind)
        list_name = self._names[list_gvk] = definition_name(list_gvk)
        self._raw[list_name] = _list(gvk, list_gvk, name)
        self._nodes[list_name] = TypeNode(Shape.OBJECT, list_name, properties=dict)

    def remove(self, gvk: GroupVersionKind, list_kind: str) -> None:
        for one in (gvk, GroupVersionKind(gvk.group, gvk.version, list_kind)):
            if (name := self._names.pop(one, None)) is not None:
                self._raw.pop(name, None)
                self._nodes.pop(name, None)

    def name_of(self, gvk: GroupVersionKind) -> str | None:
        found = self._names.get(gvk)
        return found if found is not None else Definitions.load().name_of(gvk)

    def raw(self, name: str) -> dict[str, Any]:
        found = self._raw.get(name)
        return found if found is not None else Definitions.load().raw(name)

    def named(self, name: str) -> TypeNode:
        found = self._nodes.get(name)
        return found if found is not None else Definitions.load().named(name)


def _published(gvk: GroupVersionKind, schema: Mapping[str, Any]) -> dict[str, Any]:
    known = Definitions.load().raw("io.k8s.api.core.v1.ConfigMap")["properties"]
    properties = {
        "apiVersion": known["apiVersion"],
        "kind": known["kind"],
        "metadata": {
            "description": "Standard object's metadata.",
            "allOf": [{"$ref": f"{_REF}{OBJECT_META}"}],
        },
    }
    own = schema.get("properties") or {}
    fields = {**{k: v for k, v in own.items() if k not in properties}, **properties}
    return {**schema, "properties": fields, _KINDS: [_kind(gvk)]}


def _list(gvk: GroupVersionKind, list_gvk: GroupVersionKind, name: str) -> dict[str, Any]:
    known = Definitions.load().raw("io.k8s.api.core.v1.ConfigMap")["properties"]
    return {
        "description": f"{list_gvk.kind} is a list of {gvk.kind}",
        "type": "object",
        "required": ["items"],
        "properties": {
            "apiVersion": known["apiVersion"],
            "kind": known["kind"],
            "metadata": {
                "description": "Standard list metadata.",
                "allOf": [{"$ref": f"{_REF}{_LIST_META}"}],
            },
            "items": {
                "description": f"List of {gvk.kind} objects.",
                "type": "array",
                "items": {"$ref": f"{_REF}{name}"},
            },
        },
        _KINDS: [_kind(list_gvk)],
    }


def _kind(gvk: GroupVersionKind) -> dict[str, str]:
    return {"group": gvk.group, "kind": gvk.kind, "version": gvk.version}
