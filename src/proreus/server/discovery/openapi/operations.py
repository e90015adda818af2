"""The operations of a resource, path by path: the source of both OpenAPI versions.

An ``Operation`` names schemas by definition name; ``openapi_v3`` and ``openapi_v2`` write it down.
kubectl looks for PATCH with the parameter ``fieldValidation`` and for the group-version-kind.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

from proreus.api.group_version import GroupVersion, GroupVersionKind
from proreus.api.patch.patch_type import PatchType
from proreus.lazy_dataclass import dataclass
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


class _Form(NamedTuple):
    """An operation of any kind. Its identifier: ``word``, group version, ``of``, scope and kind."""

    method: str
    word: str
    summary: str
    parameters: tuple[Parameter, ...] = ()
    takes_object: bool = False
    body: str | None = None
    codes: tuple[str, ...] = ("200",)
    action: str = ""  # if not the method
    of: str = ""


_WRITTEN = ("200", "201")
_FORMS = {
    "list": _Form("get", "list", "List objects of kind {kind}, or watch them.", use.LIST,
                  action="list"),
    "create": _Form("post", "create", "Create a {kind}.", use.WRITE, takes_object=True,
                    codes=(*_WRITTEN, "202")),
    "deletecollection": _Form("delete", "delete", "Delete every selected {kind}.",
                              use.DELETE_COLLECTION, body=DELETE_OPTIONS,
                              action="deletecollection", of="Collection"),
    "get": _Form("get", "read", "Read a {kind}."),
    "update": _Form("put", "replace", "Replace a {kind}.", use.WRITE, takes_object=True,
                    codes=_WRITTEN),
    "patch": _Form("patch", "patch", "Change parts of a {kind}.", use.PATCH, body=PATCH,
                   codes=_WRITTEN),
    "delete": _Form("delete", "delete", "Delete a {kind}.", use.DELETE, body=DELETE_OPTIONS,
                    codes=("200", "202")),
}  # fmt: skip
# Kubernetes describes custom kinds by a program of their own, which says less, or something else.
_CUSTOM_FORMS = {
    **_FORMS,
    "deletecollection": _FORMS["deletecollection"]._replace(parameters=use.LIST, body=None),
    "get": _FORMS["get"]._replace(parameters=(use.RESOURCE_VERSION,)),
    "patch": _FORMS["patch"]._replace(codes=("200",)),
}


def resource_paths(resource: Resource, schema_name: SchemaName) -> list[PathItem]:
    """All paths of one resource, its subresources included, and the deprecated watch paths of
    built-in kinds."""
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
        self.streaming = CUSTOM_PLAIN if resource.custom else STREAMING
        self.consumed = CUSTOM_PLAIN if resource.custom else ("*/*",)
        self.forms = _CUSTOM_FORMS if resource.custom else _FORMS

    def paths(self) -> list[PathItem]:
        verbs = set(self.resource.verbs)
        found = [self._collection(verbs)]
        if verbs & {"get", "update", "patch", "delete"}:
            found.append(self._item(verbs))
        if self.resource.namespaced and "list" in verbs:
            found.append(self._everywhere())
        for sub in self.resource.subresources:
            found += self._connections(sub) if sub.name in _CONNECTS else [self._subresource(sub)]
        if "watch" in verbs and not self.resource.custom:
            found += self._watches()
        return [path for path in found if path.operations]

    def _path(
        self, tail: str, operations: Sequence[Operation], *more: Parameter, prefix: str = ""
    ) -> PathItem:
        shared = [*more, use.PRETTY]
        if "{namespace}" in tail:
            shared.insert(0, use.NAMESPACE)
        if "{name}" in tail:
            shared.insert(0, use.NAME)
        return PathItem(f"{self.root}{prefix}{tail}", tuple(shared), tuple(operations))

    def _collection(self, verbs: set[str]) -> PathItem:
        return self._path(self.collection, self._of(("list", "create", "deletecollection"), verbs))

    def _item(self, verbs: set[str]) -> PathItem:
        return self._path(self.item, self._of(("get", "update", "patch", "delete"), verbs))

    def _of(self, wanted: Sequence[str], verbs: set[str]) -> list[Operation]:
        return [self._operation(verb) for verb in wanted if verb in verbs]

    def _everywhere(self) -> PathItem:
        kind = self.resource.kind
        listed = replace(
            self._operation("list"),
            identifier=f"list{self.home}{kind}ForAllNamespaces",
            summary=f"List objects of kind {kind} in all namespaces, or watch them.",
            parameters=(),
        )
        item = self._path(f"/{self.resource.plural}", [listed], *use.LIST)
        if not self.resource.custom:
            return item
        by_name = sorted(item.parameters, key=lambda parameter: parameter.name)
        return replace(item, parameters=tuple(by_name))

    def _operation(self, verb: str, sub: Subresource | None = None) -> Operation:
        """What is the same for every kind, filled in for this one."""
        kind, gvk, schema = self._names(sub)
        form = self.forms[verb]
        name = f"{form.word}{self.home}{form.of}{self.scope}{kind}"
        made = Operation(
            method=form.method,
            action=form.action or form.method,
            identifier=name,
            summary=form.summary.format(kind=kind),
            tag=self.tag,
            gvk=gvk,
            parameters=form.parameters,
            body=schema if form.takes_object else form.body,
            body_required=form.body != DELETE_OPTIONS,
            consumes=self.consumed,
            answer=schema,
            codes=form.codes,
            produces=self.plain,
        )
        match verb:
            case "list":
                listed = self.resource.group_version.kind(self.resource.names.list_kind)
                return replace(made, answer=self.schema_name(listed), produces=self.streaming)
            case "patch":
                types = [t for t in _PATCH_TYPES if not self.resource.custom or t != _NOT_CUSTOM]
                return replace(made, consumes=tuple(types))
            case "deletecollection":
                return replace(made, answer=STATUS)
            case "delete" if not self.resource.lifecycle.returns_deleted:
                return replace(made, answer=STATUS)
            case "create" if sub is not None:
                return replace(made, summary=f"Create the {sub.name} of a {self.resource.kind}.")
            case _:
                return made

    def _names(self, sub: Subresource | None) -> tuple[str, GroupVersionKind, str | None]:
        if sub is None:
            return self.resource.kind, self.resource.gvk, self.own
        kind = f"{self.resource.kind}{capital(sub.name)}"
        gvk = self.resource.gvk if self.resource.custom else sub.kind
        return kind, gvk, self.schema_name(sub.kind)

    def _subresource(self, sub: Subresource) -> PathItem:
        operations = [self._operation(verb, sub) for verb in sub.verbs if verb in _FORMS]
        if sub.name == "log":
            return self._log(operations)
        return self._path(f"{self.item}/{sub.name}", operations)

    def _log(self, operations: list[Operation]) -> PathItem:
        """Said to be of the kind it is read from, but text."""
        as_text = [replace(one, answer=None, produces=("text/plain", *PLAIN)) for one in operations]
        return self._path(f"{self.item}/log", as_text, *connections.LOG)

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
        operations = [
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
