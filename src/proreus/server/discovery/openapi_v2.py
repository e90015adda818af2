"""OpenAPI v2: one document with everything, for clients that do not know v3.

client-go asks for it only in protobuf. Built when first asked for: current kubectl never does.

Cost: about 0.3 s for JSON, as much again for protobuf, once per state of the catalog.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from proreus.server.discovery.api_services import ApiServices
from proreus.server.discovery.document import CatalogSnapshot, CurrentSnapshot, Document
from proreus.server.discovery.openapi import gnostic
from proreus.server.discovery.openapi.discovery_paths import discovery_keys, discovery_path
from proreus.server.discovery.openapi.merging import RemoteSpec, merged
from proreus.server.discovery.openapi.operations import Operation, PathItem, resource_paths
from proreus.server.discovery.openapi.parameters import Parameter
from proreus.server.discovery.openapi.schemas import REF, SchemaSource, closure
from proreus.server.discovery.openapi.shared_parameters import SharedParameters
from proreus.server.discovery.openapi_v3 import SECURITY, extensions, schema_names
from proreus.server.discovery.version import GIT_VERSION
from proreus.server.registry.catalog import Catalog

RemoteSpecs = tuple[RemoteSpec, ...]
_REF_V2 = "#/definitions/"
_SHAPES = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": {"type": "string"},
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": {
        "type": "string",
        "format": "int-or-string",
    },
}
_KINDS = "x-kubernetes-group-version-kind"
_OPEN = "x-kubernetes-preserve-unknown-fields"
_OF_KINDS = (_KINDS, "x-kubernetes-selectable-fields")
_OMITTED = frozenset({"default", "oneOf", "anyOf", "not", "nullable"})
_OMITTED_OF_CUSTOM = _OMITTED - {"default"}
_CODES = {"200": "OK", "201": "Created", "202": "Accepted", "401": "Unauthorized"}


class OpenApiV2:
    def __init__(
        self, catalog: Catalog, source: SchemaSource, api_services: ApiServices | None = None
    ) -> None:
        self._state = CurrentSnapshot(catalog, api_services)
        self._source = source

    def document(self, remote: RemoteSpecs = ()) -> Document:
        """``remote``: documents of other servers, of whose paths it has some."""
        served = self._state.now()
        return served.latest("json", remote, lambda: Document.of(self._whole(served, remote)))

    def protobuf(self, remote: RemoteSpecs = ()) -> bytes:
        served = self._state.now()
        return served.latest(
            "protobuf", remote, lambda: gnostic.encode_v2(self._whole(served, remote))
        )

    def _whole(self, served: CatalogSnapshot, remote: RemoteSpecs) -> dict[str, Any]:
        own = self._build(served)
        return merged(own, remote) if remote else own

    def _build(self, served: CatalogSnapshot) -> dict[str, Any]:
        items = [discovery_path(key) for key in discovery_keys(served)]
        for resource in served.resources:
            items += resource_paths(resource, self._source.name_of)
        items.sort(key=lambda item: item.path)
        schemas = closure(schema_names(items), self._source)
        custom = {self._source.name_of(one.gvk) for one in served.resources if one.custom}
        shared = SharedParameters()
        paths = {item.path: _path_item(item, shared) for item in items}
        return {
            "swagger": "2.0",
            "info": {"title": "Kubernetes", "version": GIT_VERSION},
            "paths": paths,
            "parameters": shared.in_order(),
            "definitions": {
                name: _schema(schema, _OMITTED_OF_CUSTOM)
                if name in custom and not schema.get(_OPEN)
                else _definition(name, schema)
                for name, schema in schemas.items()
            },
            "securityDefinitions": SECURITY,
            "security": [{"BearerToken": []}],
        }


def _definition(name: str, schema: Mapping[str, Any]) -> Any:
    if name in _SHAPES:
        described = {"description": schema["description"]} if "description" in schema else {}
        return {**described, **_SHAPES[name]}
    if schema.get(_OPEN):
        return {"type": "object", **{key: schema[key] for key in _OF_KINDS if key in schema}}
    return _schema(schema, _OMITTED)


def _schema(schema: Any, left_out: frozenset[str]) -> Any:
    """A v3 schema as v2 has it: other references, no defaults, no alternatives. Clients of v2 know
    no null and no unknown fields: of what may have them it says nothing."""
    if isinstance(schema, list):
        return [_schema(part, left_out) for part in schema]
    if not isinstance(schema, dict):
        return schema
    found: dict[str, Any] = {}
    omitted = left_out | _omitted_keys(schema)
    for key, value in schema.items():
        match key:
            case _ if key in omitted:
                continue
            case "$ref":
                found[key] = value.replace(REF, _REF_V2)
            case "allOf":  # a reference with a description
                found |= _schema(value[0], left_out) if "$ref" in value[0] else {}
            case "properties":
                found[key] = {name: _schema(field, left_out) for name, field in value.items()}
            case "required":
                found |= _required(schema)
            case _:
                found[key] = _schema(value, left_out)
    return found


def _omitted_keys(schema: Mapping[str, Any]) -> frozenset[str]:
    kind = schema.get("type")
    if schema.get("nullable"):
        return frozenset({"type", "items", "properties"})
    if schema.get(_OPEN):
        typed = {"type"} if kind in ("object", "array") else set()
        return frozenset({"items", "properties", *typed})
    return frozenset({"type"} if kind == "array" and "items" not in schema else ())


def _required(schema: Mapping[str, Any]) -> dict[str, list[str]]:
    """Without the fields that may be null."""
    others = schema.get("additionalProperties")
    if isinstance(others, dict) and others.get("nullable"):
        return {}
    fields = schema.get("properties") or {}
    left = [name for name in schema["required"] if not (fields.get(name) or {}).get("nullable")]
    if schema.get(_OPEN) and schema.get("x-kubernetes-embedded-resource"):
        left = [name for name in left if name not in ("kind", "apiVersion")]
    return {"required": left} if left else {}


def _path_item(item: PathItem, shared: SharedParameters) -> dict[str, Any]:
    found: dict[str, Any] = {op.method: _operation(op, shared) for op in item.operations}
    if item.parameters:
        found["parameters"] = [_parameter(parameter, shared) for parameter in item.parameters]
    return found


def _operation(operation: Operation, shared: SharedParameters) -> dict[str, Any]:
    parameters: list[dict[str, Any]] = []
    if operation.body is not None:
        body: dict[str, Any] = {"name": "body", "in": "body"}
        body |= {"required": True} if operation.body_required else {}
        body["schema"] = {"$ref": f"{_REF_V2}{operation.body}"}
        parameters.append(shared.place(body))
    parameters += [_parameter(parameter, shared) for parameter in operation.parameters]
    found: dict[str, Any] = {
        "description": operation.summary,
        "consumes": list(operation.consumes),
        "produces": list(operation.produces),
        "schemes": ["https"],
        "tags": [operation.tag],
        "operationId": operation.identifier,
    }
    if parameters:
        found["parameters"] = parameters
    found["responses"] = {code: _response(code, operation.answer) for code in operation.codes}
    found["responses"]["401"] = {"description": _CODES["401"]}
    return found | extensions(operation)


def _response(code: str, answer: str | None) -> dict[str, Any]:
    shape = {"type": "string"} if answer is None else {"$ref": f"{_REF_V2}{answer}"}
    return {"description": _CODES[code], "schema": shape}


def _parameter(parameter: Parameter, shared: SharedParameters) -> dict[str, Any]:
    found: dict[str, Any] = {"uniqueItems": True, "type": parameter.type}
    found |= {"description": parameter.description, "name": parameter.name, "in": parameter.where}
    found |= {"required": True} if parameter.where == "path" else {}
    return shared.place(found, parameter.hash)
