"""Schemas of custom kinds as OpenAPI publishes them, beside the built-in definitions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from proreus.api.group_version import GroupVersionKind
from proreus.server.custom.schema.structural import TYPE_FIELDS, Structural
from proreus.server.resource import Resource
from proreus.server.schema.definitions import OBJECT_META, Definitions

_SELECTABLE = "x-kubernetes-selectable-fields"
_INT_OR_STRING = [{"type": "integer"}, {"type": "string"}]
_REF = "#/components/schemas/"
_LIST_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta"
_CONVENTIONS = "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md"


def definition_name(gvk: GroupVersionKind) -> str:
    """``com.example.v1.Widget`` for example.com/v1 Widget."""
    reversed_group = ".".join(reversed(gvk.group.split(".")))
    return f"{reversed_group}.{gvk.version}.{gvk.kind}"


class PublishedSchemas:
    """Finds a definition by name, whether built in or custom."""

    def __init__(self) -> None:
        self._names: dict[GroupVersionKind, str] = {}
        self._raw: dict[str, dict[str, Any]] = {}

    def put(self, resource: Resource, schema: Structural) -> None:
        gvk = resource.gvk
        name = self._names[gvk] = definition_name(gvk)
        told = _selectable(resource)
        self._raw[name] = {**_published(gvk, schema), **told}
        list_gvk = GroupVersionKind(gvk.group, gvk.version, resource.names.list_kind)
        list_name = self._names[list_gvk] = definition_name(list_gvk)
        self._raw[list_name] = {**_list(gvk, list_gvk, resource.plural), **told}

    def remove(self, gvk: GroupVersionKind, list_kind: str) -> None:
        for one in (gvk, GroupVersionKind(gvk.group, gvk.version, list_kind)):
            if (name := self._names.pop(one, None)) is not None:
                self._raw.pop(name, None)

    def name_of(self, gvk: GroupVersionKind) -> str | None:
        found = self._names.get(gvk)
        return found if found is not None else Definitions.load().name_of(gvk)

    def raw(self, name: str) -> dict[str, Any]:
        found = self._raw.get(name)
        return found if found is not None else Definitions.load().raw(name)


def _published(gvk: GroupVersionKind, schema: Structural) -> dict[str, Any]:
    own = {**_unfolded(schema.raw), **_kinds(gvk)}
    fields = {k: v for k, v in (own.get("properties") or {}).items() if k not in TYPE_FIELDS}
    return {**own, "properties": {**fields, **_type_fields()}}


def _selectable(resource: Resource) -> dict[str, Any]:
    """By which fields lists of it can be filtered."""
    paths = [{"fieldPath": name} for name in resource.selectable.names]
    return {_SELECTABLE: paths} if paths else {}


def _type_fields() -> dict[str, Any]:
    known = Definitions.load().raw("io.k8s.api.core.v1.ConfigMap")["properties"]
    return {
        "apiVersion": known["apiVersion"],
        "kind": known["kind"],
        "metadata": {
            "description": known["metadata"]["description"],
            "allOf": [{"$ref": f"{_REF}{OBJECT_META}"}],
        },
    }


def _unfolded(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """What the schema says by a keyword of Kubernetes' own, said for others too: resources inside
    of it have a type and metadata, and what is an integer or a string is either.

    A schema without any is itself: it is not copied.
    """
    changed: dict[str, Any] = {}
    fields = schema.get("properties")
    if fields:
        made = {key: _unfolded(field) for key, field in fields.items()}
        if any(made[key] is not field for key, field in fields.items()):
            changed["properties"] = made
    for word in ("items", "additionalProperties"):
        inner = schema.get(word)
        if isinstance(inner, dict) and (other := _unfolded(inner)) is not inner:
            changed[word] = other
    if schema.get("x-kubernetes-embedded-resource"):
        changed["properties"] = {**(changed.get("properties") or fields or {}), **_type_fields()}
        required = list(schema.get("required") or ())
        changed["required"] = required + [
            word for word in ("kind", "apiVersion") if word not in required
        ]
    if schema.get("x-kubernetes-int-or-string"):
        changed |= _either(schema)
    return {**schema, **changed} if changed else schema


def _either(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Unless the schema says so itself, in the one place where it may."""
    others, parts = schema.get("anyOf"), schema.get("allOf") or []
    if others == _INT_OR_STRING or (parts and parts[0].get("anyOf") == _INT_OR_STRING):
        return {}
    return {"allOf": [{"anyOf": _INT_OR_STRING}, *parts]} if others else {"anyOf": _INT_OR_STRING}


def _list(gvk: GroupVersionKind, list_gvk: GroupVersionKind, plural: str) -> dict[str, Any]:
    fields = _type_fields()
    return {
        "description": f"{list_gvk.kind} is a list of {gvk.kind}",
        "type": "object",
        "required": ["items"],
        "properties": {
            "apiVersion": fields["apiVersion"],
            "kind": fields["kind"],
            "metadata": {
                "description": f"Standard list metadata. More info: {_CONVENTIONS}#types-kinds",
                "allOf": [{"$ref": f"{_REF}{_LIST_META}"}],
            },
            "items": {
                "description": f"List of {plural}. More info: {_CONVENTIONS}",
                "type": "array",
                "items": {"$ref": f"{_REF}{definition_name(gvk)}"},
            },
        },
        **_kinds(list_gvk),
    }


def _kinds(gvk: GroupVersionKind) -> dict[str, Any]:
    kind = {"group": gvk.group, "kind": gvk.kind, "version": gvk.version}
    return {"x-kubernetes-group-version-kind": [kind]}
