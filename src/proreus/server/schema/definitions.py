"""The built-in type definitions, read from the file the build made, as trees of ``TypeNode``.

Loading unpacks one file of texts; a definition is decoded when first walked, so that a server
that serves pods never pays for the other eight hundred. Nodes are shared: asking twice gives the
same object, which ``check`` and the patches rely on to compile once.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import orjson

from proreus.api.group_version import GroupVersionKind
from proreus.api.json_types import JsonObject
from proreus.api.typed import ListType, Shape, TypeNode

_META = "io.k8s.apimachinery.pkg.apis.meta.v1."
_CRD = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1."
OBJECT_META = f"{_META}ObjectMeta"
_RAW_EXTENSION = "io.k8s.apimachinery.pkg.runtime.RawExtension"
# Definitions whose shape the document cannot say.
_SHAPES = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": Shape.QUANTITY,
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": Shape.INT_OR_STRING,
    f"{_META}Time": Shape.TIME,
    f"{_META}MicroTime": Shape.MICRO_TIME,
    _RAW_EXTENSION: Shape.ANY,
    f"{_META}FieldsV1": Shape.ANY,
    f"{_META}Patch": Shape.ANY,
    f"{_CRD}JSON": Shape.ANY,
}
# A schema or something else; their element is the schema.
_UNIONS = frozenset(f"{_CRD}JSONSchemaPropsOr{other}" for other in ("Array", "Bool", "StringArray"))
_SCALARS = {
    "string": Shape.STRING,
    "integer": Shape.INTEGER,
    "number": Shape.NUMBER,
    "boolean": Shape.BOOLEAN,
}
_REF = "#/components/schemas/"


class Definitions:
    """Use ``Definitions.load()``; it is read once per process."""

    def __init__(self, texts: dict[str, str], kinds: dict[str, str]) -> None:
        self._texts = texts
        self._kinds = kinds
        self._raw: dict[str, dict[str, Any]] = {}
        self._nodes: dict[str, TypeNode] = {}

    @staticmethod
    @cache
    def load() -> Definitions:
        packed = Path(__file__).with_name("definitions.json.gz")
        document = orjson.loads(gzip.decompress(packed.read_bytes()))
        return Definitions(document["definitions"], document["kinds"])

    def add(self, schemas: Mapping[str, JsonObject]) -> None:
        """Types that Kubernetes does not publish, by name. Those of a kind say which, in
        ``x-kubernetes-group-version-kind``."""
        for name, schema in schemas.items():
            self._texts[name] = orjson.dumps(schema).decode()
            self._raw.pop(name, None)
            self._nodes.pop(name, None)
            for gvk in schema.get("x-kubernetes-group-version-kind", ()):
                self._kinds[f"{gvk['group']}/{gvk['version']}/{gvk['kind']}"] = name

    def __iter__(self) -> Iterator[str]:
        """Every definition's name."""
        return iter(self._texts)

    def kinds(self) -> Iterator[GroupVersionKind]:
        """Every kind that has a definition of its own, lists included."""
        for key in self._kinds:
            yield GroupVersionKind(*key.split("/"))

    def name_of(self, gvk: GroupVersionKind) -> str | None:
        """``io.k8s.api.core.v1.Pod`` for v1 Pod; None if the kind is unknown."""
        return self._kinds.get(f"{gvk.group}/{gvk.version}/{gvk.kind}")

    def raw(self, name: str) -> dict[str, Any]:
        """The OpenAPI v3 schema with descriptions. Shared: do not change it."""
        found = self._raw.get(name)
        if found is None:
            found = self._raw[name] = orjson.loads(self._texts[name])
        return found

    def node(self, gvk: GroupVersionKind) -> TypeNode | None:
        """The shape of a kind, None if it is unknown."""
        name = self.name_of(gvk)
        return self.named(name) if name is not None else None

    def named(self, name: str) -> TypeNode:
        """The shape of a definition."""
        found = self._nodes.get(name)
        if found is None:
            found = self._nodes[name] = self._build(name, self.raw(name))
        return found

    def _build(self, name: str, schema: Mapping[str, Any]) -> TypeNode:
        """``name`` is the definition's name, "" for a part of one."""
        if name in _SHAPES:
            # Of what is raw nobody owns a part.
            whole = name == _RAW_EXTENSION
            return TypeNode(_SHAPES[name], name, nullable=True, atomic_map=whole)
        if name in _UNIONS:
            schemas = f"{_CRD}JSONSchemaProps"
            return TypeNode(Shape.ANY, name, nullable=True, element=lambda: self.named(schemas))
        kind = schema.get("type")
        if kind == "array":
            return self._list(schema)
        if kind == "object":
            return self._object(name, schema)
        if kind is None:
            return TypeNode(Shape.ANY, name, nullable=True)
        shape = Shape.BYTES if schema.get("format") == "byte" else _SCALARS[kind]
        return TypeNode(shape, name, nullable=True, format=schema.get("format", ""))

    def _list(self, schema: Mapping[str, Any]) -> TypeNode:
        items = schema["items"]
        return TypeNode(
            Shape.LIST,
            element=cache(lambda: self._field(items)),
            nullable=True,
            list_type=ListType(schema.get("x-kubernetes-list-type", "atomic")),
            list_map_keys=tuple(schema.get("x-kubernetes-list-map-keys", ())),
            **_strategic(schema),
        )

    def _object(self, name: str, schema: Mapping[str, Any]) -> TypeNode:
        atomic = schema.get("x-kubernetes-map-type") == "atomic"
        if values := schema.get("additionalProperties"):
            return TypeNode(
                Shape.MAP,
                element=cache(lambda: self._field(values)),
                nullable=True,
                atomic_map=atomic,
                **_strategic(schema),
            )
        fields = schema.get("properties", {})
        return TypeNode(
            Shape.OBJECT,
            name,
            properties=cache(lambda: {key: self._property(fields[key]) for key in fields}),
            required=frozenset(schema.get("required", ())),
            nullable=True,
            atomic_map=atomic,
            **_strategic(schema),
        )

    def _property(self, schema: Mapping[str, Any]) -> TypeNode:
        node = self._field(schema)
        # Zero values are defaults too: apply finds a list element that omits its key by them.
        return replace(node, default=schema["default"]) if "default" in schema else node

    def _field(self, schema: Mapping[str, Any]) -> TypeNode:
        """A reference with its own merge rules, or an inline schema."""
        reference = schema.get("$ref") or (schema.get("allOf") or [{}])[0].get("$ref")
        if reference is None:
            return self._build("", schema)
        node = self.named(reference.removeprefix(_REF))
        changes = _strategic(schema)
        if own := schema.get("x-kubernetes-map-type"):
            changes["atomic_map"] = own == "atomic"
        return replace(node, **changes) if changes else node


def _strategic(schema: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if strategy := schema.get("x-kubernetes-patch-strategy"):
        found["patch_strategies"] = frozenset(strategy.split(","))
    if key := schema.get("x-kubernetes-patch-merge-key"):
        found["patch_merge_key"] = key
    return found
