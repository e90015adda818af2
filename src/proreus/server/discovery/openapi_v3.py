"""OpenAPI v3: an index of documents, and one document per group version, built when asked for.

A document's hash is taken from what it is made of (the resources and the definitions' release),
not from its bytes: the index names all hashes, and must not cost building all documents.

Cost: about 40 ms for ``api/v1``, once; the index a few milliseconds.
"""

from __future__ import annotations

from typing import Any

from proreus.api.group_version import GroupVersion
from proreus.api.wire import json
from proreus.server.discovery.api_services import ApiServices
from proreus.server.discovery.document import (
    CatalogSnapshot,
    CurrentSnapshot,
    Document,
    content_hash,
    quoted,
)
from proreus.server.discovery.openapi import gnostic
from proreus.server.discovery.openapi.discovery_paths import (
    discovery_keys,
    discovery_path,
    group_version_of,
    is_custom,
)
from proreus.server.discovery.openapi.operations import Operation, PathItem, resource_paths
from proreus.server.discovery.openapi.parameters import Parameter
from proreus.server.discovery.openapi.schemas import REF, SchemaSource, closure
from proreus.server.discovery.version import GIT_VERSION
from proreus.server.registry.catalog import Catalog
from proreus.server.resource import Resource

SECURITY = {
    "BearerToken": {
        "type": "apiKey",
        "name": "authorization",
        "in": "header",
        "description": "Bearer Token authentication",
    }
}


class OpenApiV3:
    """Keys are paths without their leading slash: ``api/v1``, ``apis/apps``, ``version``."""

    def __init__(
        self, catalog: Catalog, source: SchemaSource, api_services: ApiServices | None = None
    ) -> None:
        self._state = CurrentSnapshot(catalog, api_services)
        self._source = source

    def index(self) -> Document:
        """``GET /openapi/v3``."""
        served = self._state.now()
        return served.once("index", lambda: _index(served))

    def hash_of(self, key: str) -> str | None:
        """The hash a document is asked for with; None if there is no such document."""
        return _hashes(self._state.now()).get(key)

    def document(self, key: str) -> Document | None:
        served = self._state.now()
        if key not in _hashes(served):
            return None
        return served.once(("json", key), lambda: self._document(served, key))

    def protobuf(self, key: str) -> bytes | None:
        """The same document in the protobuf form."""
        served = self._state.now()
        document = self.document(key)
        if document is None:
            return None
        return served.once(("protobuf", key), lambda: gnostic.encode_v3(document.decoded()))

    def _document(self, served: CatalogSnapshot, key: str) -> Document:
        items = [discovery_path(key)] if key in discovery_keys(served) else []
        for resource in _resources(served, key):
            items += resource_paths(resource, self._source.name_of)
        items.sort(key=lambda item: item.path)
        schemas = closure(schema_names(items), self._source)
        home = group_version_of(key)
        body = {
            "openapi": "3.0.0",
            "info": _info(_resources(served, key)),
            "paths": {item.path: _path_item(item) for item in items},
            "components": {
                "schemas": {name: _at_home(schema, home) for name, schema in schemas.items()},
                **({} if is_custom(_resources(served, key)) else {"securitySchemes": SECURITY}),
            },
        }
        return Document(json.encode(body), quoted(_hashes(served)[key]))


def _info(resources: list[Resource]) -> dict[str, str]:
    if is_custom(resources):
        return {"title": "Kubernetes CRD Swagger", "version": "v0.1.0"}
    return {"title": "Kubernetes", "version": GIT_VERSION}


def _index(served: CatalogSnapshot) -> Document:
    urls = {key: f"/openapi/v3/{key}?hash={tag}" for key, tag in _hashes(served).items()}
    for where, remote in served.remote.items():
        if remote.openapi_url:
            urls[where.path.lstrip("/")] = remote.openapi_url
    paths = {key: {"serverRelativeURL": urls[key]} for key in sorted(urls)}
    return Document.of({"paths": paths})


def _hashes(served: CatalogSnapshot) -> dict[str, str]:
    return served.once("hashes", lambda: {key: _hash(served, key) for key in _keys(served)})


def _keys(served: CatalogSnapshot) -> list[str]:
    versions = [
        GroupVersion(group, version).path.lstrip("/")
        for group, versions in served.own_groups()
        for version in versions
    ]
    return sorted({*discovery_keys(served), *versions})


def _hash(served: CatalogSnapshot, key: str) -> str:
    content = [_fingerprint(resource) for resource in _resources(served, key)]
    return content_hash(GIT_VERSION.encode(), key.encode(), json.encode(content))


def _resources(served: CatalogSnapshot, key: str) -> list[Resource]:
    group_version = group_version_of(key)
    return served.of(group_version) if group_version else []


def schema_names(items: list[PathItem]) -> set[str]:
    """Every definition the operations take or answer with."""
    operations = [operation for item in items for operation in item.operations]
    names = {name for operation in operations for name in (operation.body, operation.answer)}
    return {name for name in names if name is not None}


def _at_home(schema: Any, home: GroupVersion | None) -> Any:
    """A schema that serves every group (DeleteOptions) names only the group version at hand."""
    kinds = schema.get(_KINDS, ())
    if home is None or len(kinds) < 2:
        return schema
    own = [kind for kind in kinds if (kind["group"], kind["version"]) == _pair(home)]
    return {**schema, _KINDS: own} if own else schema


_KINDS = "x-kubernetes-group-version-kind"


def _pair(group_version: GroupVersion) -> tuple[str, str]:
    return (group_version.group, group_version.version)


def _fingerprint(resource: Resource) -> list[Any]:
    """Everything about a resource that its paths depend on."""
    subresources = [[sub.name, str(sub.kind), sub.verbs] for sub in resource.subresources]
    flags = [resource.namespaced, bool(resource.custom), resource.lifecycle.returns_deleted,
             resource.refresh_before]  # fmt: skip
    names = [resource.plural, resource.kind, resource.names.list_kind]
    return [*names, *flags, resource.verbs, subresources]


def _path_item(item: PathItem) -> dict[str, Any]:
    found: dict[str, Any] = {op.method: _operation(op) for op in item.operations}
    if item.parameters:
        found["parameters"] = [_parameter(parameter) for parameter in item.parameters]
    return found


def _operation(operation: Operation) -> dict[str, Any]:
    found: dict[str, Any] = {
        "tags": [operation.tag],
        "description": operation.summary,
        "operationId": operation.identifier,
    }
    if operation.parameters:
        found["parameters"] = [_parameter(parameter) for parameter in operation.parameters]
    if operation.body is not None:
        body = {"content": _content(operation.consumes, operation.body)}
        found["requestBody"] = {**body, "required": True} if operation.body_required else body
    answer = _content(operation.produces, operation.answer)
    found["responses"] = {
        code: {"description": _CODES[code], "content": answer} for code in operation.codes
    }
    found["responses"]["401"] = {"description": _CODES["401"]}
    return found | extensions(operation)


_CODES = {"200": "OK", "201": "Created", "202": "Accepted", "401": "Unauthorized"}


def extensions(operation: Operation) -> dict[str, Any]:
    """What clients find the kind of an operation by."""
    found: dict[str, Any] = {}
    if operation.action:
        found["x-kubernetes-action"] = operation.action
    if operation.gvk is not None:
        gvk = operation.gvk
        kind = {"group": gvk.group, "version": gvk.version, "kind": gvk.kind}
        found[_KINDS] = kind
    return found


def _content(media_types: tuple[str, ...], schema: str | None) -> dict[str, Any]:
    shape = {"type": "string"} if schema is None else {"$ref": f"{REF}{schema}"}
    return {media: {"schema": shape} for media in media_types}


def _parameter(parameter: Parameter) -> dict[str, Any]:
    found: dict[str, Any] = {
        "name": parameter.name,
        "in": parameter.where,
        "description": parameter.description,
    }
    if parameter.where == "path":
        found["required"] = True
    return found | {"schema": {"type": parameter.type, "uniqueItems": True}}
