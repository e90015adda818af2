"""Schemas as operators publish them: with whole pod specs inside, thousands of lines long."""

from __future__ import annotations

from typing import Any

from proreus.server.custom.definition.rules import DEFINITION
from proreus.server.custom.schema.default import default
from proreus.server.custom.schema.prune import prune
from proreus.server.custom.schema.structural import parse, type_node
from proreus.server.custom.schema.validate import validate_object
from proreus.server.schema.definitions import Definitions
from tests.unit.server.validated import at_once

_REF = "#/components/schemas/"
_ANY: dict[str, Any] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
_INT_OR_STRING: dict[str, Any] = {
    "x-kubernetes-int-or-string": True,
    "anyOf": [{"type": "integer"}, {"type": "string"}],
}
_LEAVES: dict[str, dict[str, Any]] = {
    "Quantity": {**_INT_OR_STRING, "pattern": r"^(\+|-)?[0-9.]+([KMGTPE]i?|[munk])?$"},
    "IntOrString": _INT_OR_STRING,
    "Time": {"type": "string", "format": "date-time"},
    "ObjectMeta": _ANY,
    "FieldsV1": _ANY,
}


def inlined(schema: dict[str, Any]) -> dict[str, Any]:
    """A published definition without references, as schema generators write it."""
    reference = schema.get("$ref") or (schema.get("allOf") or [{}])[0].get("$ref")
    if reference:
        name = reference.removeprefix(_REF)
        leaf = _LEAVES.get(name.rpartition(".")[2])
        return leaf or inlined(Definitions.load().raw(name))
    words = ("type", "description", "format", "required", "enum", "x-kubernetes-map-type")
    made = {key: value for key, value in schema.items() if key in words}
    if "properties" in schema:
        made["properties"] = {key: inlined(field) for key, field in schema["properties"].items()}
    if "additionalProperties" in schema:
        made["additionalProperties"] = inlined(schema["additionalProperties"])
    if "items" in schema:
        made["items"] = inlined(schema["items"])
    return made


def pod_schema() -> dict[str, Any]:
    spec = inlined(Definitions.load().raw("io.k8s.api.core.v1.PodTemplateSpec"))
    containers = spec["properties"]["spec"]["properties"]["containers"]
    containers |= {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]}
    return {"type": "object", "properties": {"spec": {
        "type": "object", "properties": {"template": spec}}}}  # fmt: skip


def definition(schema: dict[str, Any]) -> dict[str, Any]:
    version = {"name": "v1", "served": True, "storage": True}
    made: dict[str, Any] = {
        "metadata": {"name": "stacks.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "stacks", "kind": "Stack"},
            "versions": [{**version, "schema": {"openAPIV3Schema": schema}}],
        },
    }
    DEFINITION.default(made)
    DEFINITION.prepare_create(made)
    return made


def lines(schema: Any) -> int:
    if isinstance(schema, dict):
        return sum(1 + lines(value) for value in schema.values())
    return sum(lines(item) for item in schema) if isinstance(schema, list) else 0


POD = {
    "containers": [
        {
            "name": "web",
            "image": "web:1",
            "ports": [{"containerPort": 80}],
            "resources": {"limits": {"cpu": "1", "memory": "1Gi"}},
            "livenessProbe": {"httpGet": {"path": "/", "port": "http"}},
        }
    ],
}


def test_a_definition_with_a_pod_inside_is_taken() -> None:
    schema = pod_schema()

    assert lines(schema) > 3000
    assert [str(error) for error in at_once(DEFINITION.validate(definition(schema)))] == []


def test_a_pod_is_evaluated_by_it() -> None:
    schema = parse(pod_schema())
    obj: dict[str, Any] = {"spec": {"template": {"metadata": {"labels": {"a": "b"}}, "spec": POD}}}

    assert prune(obj, schema) == []
    default(obj, schema)
    assert validate_object(obj, schema) == []

    obj["spec"]["template"]["spec"] = {"containers": [{"image": 1}]}
    assert [error.field for error in validate_object(obj, schema)] == [
        "spec.template.spec.containers[0].image",
        "spec.template.spec.containers[0].name",
    ]


def test_apply_finds_lists_that_are_maps() -> None:
    node = type_node(parse(pod_schema()))
    for key in ("spec", "template", "spec", "containers"):
        below = node.field_of(key)
        assert below is not None
        node = below

    assert node.list_map_keys == ("name",)
