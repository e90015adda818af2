"""The operations of a resource, path by path: the source of both OpenAPI versions.

An ``Operation`` names schemas by definition name; ``openapi_v3`` and ``openapi_v2`` write it down.
kubectl looks for PATCH with the parameter ``fieldValidation`` and for the group-version-kind.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from proreus.api.group_version import GroupVersion, GroupVersionKind
from proreus.api.patch.patch_type import PatchType
from proreus.server.discovery.openapi import connections
from proreus.server.discovery.openapi import parameters as use
from proreus.server.discovery.openapi.parameters import Parameter
from proreus.server.resource import Resource, Subresource

JSON, YAML, PROTOBUF = (
    "application/json",
    "application/yaml",
    "application/vnd.kubernetes.protobuf",
)
PLAIN = (JSON, YAML, PROTOBUF)
STREAMING = (*PLAIN, f"{JSON};stream=watch", f"{PROTOBUF};stream=watch")
CUSTOM_PLAIN = (JSON, YAML)
_META = "io.k8s.apimachinery.pkg.apis.meta.v1."
STATUS, DELETE_OPTIONS = f"{_META}Status", f"{_META}DeleteOptions"
PATCH, WATCH_EVENT = f"{_META}Patch", f"{_META}WatchEvent"
_PATCH_TYPES = tuple(kind.value for kind in PatchType)
_NOT_CUSTOM = PatchType.STRATEGIC

SchemaName = Callable[[GroupVersionKind], str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """``answer`` None means text; ``codes`` are the successes it may have."""

    method: str
    action: str
    identifier: str
    summary: str
    tag: str
    gvk: GroupVersionKind | None
    parameters: tuple[Parameter, ...] = ()
    body: str | None = None
    body_required: bool = True
    consumes: tuple[str, ...] = ("*/*",)
    answer: str | None = None
    codes: tuple[str, ...] = ("200",)
    produces: tuple[str, ...] = PLAIN


@dataclass(frozen=True, slots=True)
class PathItem:
    path: str
    parameters: tuple[Parameter, ...]
    operations: tuple[Operation, ...]


def resource_paths(resource: Resource, schema_name: SchemaName) -> list[PathItem]:
    """All paths of one resource, its subresources and the deprecated watch paths included."""
    return _Writer(resource, schema_name).paths()


def group_camel(group: str) -> str:
    """``rbac.authorization.k8s.io`` → RbacAuthorization; the core group is Core."""
    words = re.split(r"[.-]", group.removesuffix(".k8s.io") or "core")
    return "".join(capital(word) for word in words)


def capital(word: str) -> str:
    """The first letter in upper case, the others untouched."""
    return word[:1].upper() + word[1:]


def tag(group_version: GroupVersion) -> str:
    camel = group_camel(group_version.group)
    return f"{camel[:1].lower()}{camel[1:]}_{group_version.version}"


class _Writer:
    def __init__(self, resource: Resource, schema_name: SchemaName) -> None:
        self.resource = resource
        self.schema_name = schema_name
        home = resource.group_version
        self.home = f"{group_camel(home.group)}{capital(home.version)}"
        self.root = home.path
        self.scope = "Namespaced" if resource.namespaced else ""
        below = "/namespaces/{namespace}" if resource.namespaced else ""
        self.collection = f"{below}/{resource.plural}"
        self.item = f"{self.collection}/{{name}}"
        self.tag = tag(home)
        self.own = schema_name(resource.gvk)
        self.plain = CUSTOM_PLAIN if resource.custom else PLAIN
        self.streaming = tuple(
            media for media in STREAMING if not (resource.custom and PROTOBUF in media)
        )

    def paths(self) -> list[PathItem]:
        verbs = set(self.resource.verbs)
        found = [self._collection(verbs)]
        if verbs & {"get", "update", "patch", "delete"}:
            found.append(self._item(verbs))
        if self.resource.namespaced and "list" in verbs:
            found.append(self._everywhere())
        for sub in self.resource.subresources:
            found += self._connections(sub) if sub.name in _CONNECTS else [self._subresource(sub)]
        if "watch" in verbs:
            found += self._watches()
        return [path for path in found if path.operations]

    def _path(
        self, tail: str, operations: list[Operation | None], *more: Parameter, prefix: str = ""
    ) -> PathItem:
        shared = [*more, use.PRETTY]
        if "{namespace}" in tail:
            shared.insert(0, use.NAMESPACE)
        if "{name}" in tail:
            shared.insert(0, use.NAME)
        kept = tuple(operation for operation in operations if operation is not None)
        return PathItem(f"{self.root}{prefix}{tail}", tuple(shared), kept)

    def _collection(self, verbs: set[str]) -> PathItem:
        operations = [
            self._list() if "list" in verbs else None,
            self._create() if "create" in verbs else None,
            self._delete_collection() if "deletecollection" in verbs else None,
        ]
        return self._path(self.collection, operations)

    def _item(self, verbs: set[str]) -> PathItem:
        operations = [
            self._read() if "get" in verbs else None,
            self._replace() if "update" in verbs else None,
            self._patch() if "patch" in verbs else None,
            self._delete() if "delete" in verbs else None,
        ]
        return self._path(self.item, operations)

    def _everywhere(self) -> PathItem:
        kind = self.resource.kind
        listed = Operation(
            method="get",
            action="list",
            identifier=f"list{self.home}{kind}ForAllNamespaces",
            summary=f"List objects of kind {kind} in all namespaces, or watch them.",
            tag=self.tag,
            gvk=self.resource.gvk,
            answer=self._list_schema(),
            produces=self.streaming,
        )
        return self._path(f"/{self.resource.plural}", [listed], *use.LIST)

    def _list_schema(self) -> str | None:
        group_version = self.resource.group_version
        return self.schema_name(group_version.kind(self.resource.names.list_kind))

    def _list(self) -> Operation:
        return Operation(
            method="get",
            action="list",
            identifier=f"list{self.home}{self.scope}{self.resource.kind}",
            summary=f"List objects of kind {self.resource.kind}, or watch them.",
            tag=self.tag,
            gvk=self.resource.gvk,
            parameters=use.LIST,
            answer=self._list_schema(),
            produces=self.streaming,
        )

    def _create(self) -> Operation:
        return Operation(
            method="post",
            action="post",
            identifier=f"create{self.home}{self.scope}{self.resource.kind}",
            summary=f"Create a {self.resource.kind}.",
            tag=self.tag,
            gvk=self.resource.gvk,
            parameters=use.WRITE,
            body=self.own,
            answer=self.own,
            codes=("200", "201", "202"),
            produces=self.plain,
        )

    def _delete_collection(self) -> Operation:
        return Operation(
            method="delete",
            action="deletecollection",
            identifier=f"delete{self.home}Collection{self.scope}{self.resource.kind}",
            summary=f"Delete every selected {self.resource.kind}.",
            tag=self.tag,
            gvk=self.resource.gvk,
            parameters=use.DELETE_COLLECTION,
            body=DELETE_OPTIONS,
            body_required=False,
            answer=STATUS,
            produces=self.plain,
        )

    def _read(self, sub: Subresource | None = None) -> Operation:
        kind, gvk, schema = self._names(sub)
        return Operation(
            method="get",
            action="get",
            identifier=f"read{self.home}{self.scope}{kind}",
            summary=f"Read a {kind}.",
            tag=self.tag,
            gvk=gvk,
            answer=schema,
            produces=self.plain,
        )

    def _replace(self, sub: Subresource | None = None) -> Operation:
        kind, gvk, schema = self._names(sub)
        return Operation(
            method="put",
            action="put",
            identifier=f"replace{self.home}{self.scope}{kind}",
            summary=f"Replace a {kind}.",
            tag=self.tag,
            gvk=gvk,
            parameters=use.WRITE,
            body=schema,
            answer=schema,
            codes=("200", "201"),
            produces=self.plain,
        )

    def _patch(self, sub: Subresource | None = None) -> Operation:
        kind, gvk, schema = self._names(sub)
        types = tuple(t for t in _PATCH_TYPES if not (self.resource.custom and t == _NOT_CUSTOM))
        return Operation(
            method="patch",
            action="patch",
            identifier=f"patch{self.home}{self.scope}{kind}",
            summary=f"Change parts of a {kind}.",
            tag=self.tag,
            gvk=gvk,
            parameters=use.PATCH,
            body=PATCH,
            consumes=types,
            answer=schema,
            codes=("200", "201"),
            produces=self.plain,
        )

    def _delete(self) -> Operation:
        kind = self.resource.kind
        return Operation(
            method="delete",
            action="delete",
            identifier=f"delete{self.home}{self.scope}{kind}",
            summary=f"Delete a {kind}.",
            tag=self.tag,
            gvk=self.resource.gvk,
            parameters=use.DELETE,
            body=DELETE_OPTIONS,
            body_required=False,
            answer=self.own if self.resource.lifecycle.returns_deleted else STATUS,
            codes=("200", "202"),
            produces=self.plain,
        )

    def _names(self, sub: Subresource | None) -> tuple[str, GroupVersionKind, str | None]:
        if sub is None:
            return self.resource.kind, self.resource.gvk, self.own
        kind = f"{self.resource.kind}{capital(sub.name)}"
        return kind, sub.kind, self.schema_name(sub.kind)

    def _subresource(self, sub: Subresource) -> PathItem:
        make = {"get": self._read, "update": self._replace, "patch": self._patch}
        operations = [make[verb](sub) for verb in sub.verbs if verb in make]
        if "create" in sub.verbs:
            operations.append(self._create_sub(sub))
        if sub.name == "log":
            return self._log(operations)
        return self._path(f"{self.item}/{sub.name}", list(operations))

    def _log(self, operations: list[Operation]) -> PathItem:
        """Said to be of the kind it is read from, but text."""
        as_text = [replace(one, answer=None, produces=("text/plain", *PLAIN)) for one in operations]
        return self._path(f"{self.item}/log", list(as_text), *connections.LOG)

    def _create_sub(self, sub: Subresource) -> Operation:
        kind, gvk, schema = self._names(sub)
        return Operation(
            method="post",
            action="post",
            identifier=f"create{self.home}{self.scope}{kind}",
            summary=f"Create the {sub.name} of a {self.resource.kind}.",
            tag=self.tag,
            gvk=gvk,
            parameters=use.WRITE,
            body=schema,
            answer=schema,
            codes=("200", "201", "202"),
            produces=self.plain,
        )

    def _connections(self, sub: Subresource) -> list[PathItem]:
        """A proxy has a second path, whose end is what to ask for."""
        tail = f"{self.item}/{sub.name}"
        options = connections.BY_KIND[sub.kind.kind]
        if sub.name != "proxy":
            return [self._connection(sub, tail, ("get", "post"), options)]
        methods = connections.PROXY_METHODS
        return [
            self._connection(sub, tail, methods, options),
            self._connection(sub, f"{tail}/{{path}}", methods, (connections.PATH, *options)),
        ]

    def _connection(
        self, sub: Subresource, tail: str, methods: tuple[str, ...], more: tuple[Parameter, ...]
    ) -> PathItem:
        kind, gvk, _ = self._names(sub)
        ending = "WithPath" if tail.endswith("{path}") else ""
        operations: list[Operation | None] = [
            Operation(
                method=method,
                action="connect",
                identifier=f"connect{self.home}{method.capitalize()}{self.scope}{kind}{ending}",
                summary=f"Connect to the {sub.name} of a {self.resource.kind}.",
                tag=self.tag,
                gvk=gvk,
                produces=("*/*",),
            )
            for method in methods
        ]
        item = self._path(tail, operations, *more)
        return replace(item, parameters=tuple(p for p in item.parameters if p != use.PRETTY))

    def _watches(self) -> list[PathItem]:
        kind, scope = self.resource.kind, self.scope
        found = [
            self._watch(self.collection, "watchlist", f"{scope}{kind}List"),
            self._watch(self.item, "watch", f"{scope}{kind}"),
        ]
        if self.resource.namespaced:
            everywhere = f"/{self.resource.plural}"
            found.append(self._watch(everywhere, "watchlist", f"{kind}ListForAllNamespaces"))
        return found

    def _watch(self, tail: str, action: str, name: str) -> PathItem:
        watch = Operation(
            method="get",
            action=action,
            identifier=f"watch{self.home}{name}",
            summary="Deprecated: list with the parameter watch instead.",
            tag=self.tag,
            gvk=self.resource.gvk,
            answer=WATCH_EVENT,
            produces=self.streaming,
        )
        return self._path(tail, [watch], *use.LIST, prefix="/watch")


_CONNECTS = frozenset({"attach", "exec", "portforward", "proxy"})
