"""OpenAPI documents: what kubectl looks for in them, and their protobuf form."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from proreus.api.wire import json
from proreus.server.discovery.openapi import gnostic
from proreus.server.discovery.openapi.operations import group_camel
from proreus.server.discovery.openapi.schemas import references
from proreus.server.discovery.openapi_v2 import OpenApiV2
from proreus.server.discovery.openapi_v3 import OpenApiV3
from proreus.server.kinds import builtin_resources
from proreus.server.registry.catalog import Catalog
from proreus.server.schema.definitions import Definitions


def catalog() -> Catalog:
    return Catalog(builtin_resources())


@cache
def served() -> OpenApiV3:
    return OpenApiV3(catalog(), Definitions.load())


def document(key: str) -> dict[str, Any]:
    found = served().document(key)
    assert found is not None
    decoded: dict[str, Any] = found.decoded()
    return decoded


KEYS = sorted(served().index().decoded()["paths"])


def test_the_index_names_a_document_per_group_version() -> None:
    assert {"api", "apis", "version", "api/v1", "apis/apps", "apis/apps/v1"} <= set(KEYS)
    paths = served().index().decoded()["paths"]
    url = paths["apis/apps/v1"]["serverRelativeURL"]
    assert re.fullmatch(r"/openapi/v3/apis/apps/v1\?hash=[0-9A-F]{128}", url)
    assert url.endswith(served().hash_of("apis/apps/v1") or "none")


@pytest.mark.parametrize("key", KEYS)
def test_every_document_has_all_it_refers_to(key: str) -> None:
    found = document(key)
    schemas = found["components"]["schemas"]
    assert set(references(found)) <= set(schemas)


def test_a_document_that_does_not_exist() -> None:
    assert served().document("apis/nope/v1") is None
    assert served().protobuf("apis/nope/v1") is None
    assert served().hash_of("apis/nope/v1") is None


@pytest.mark.parametrize("resource", builtin_resources(), ids=repr)
def test_kubectl_finds_how_to_patch_and_explain_every_kind(resource: Any) -> None:
    found = document(resource.group_version.path.lstrip("/"))
    kind = {"group": resource.group, "version": resource.version, "kind": resource.kind}
    schemas = [
        schema
        for schema in found["components"]["schemas"].values()
        if kind in schema.get("x-kubernetes-group-version-kind", ())
    ]
    assert len(schemas) == 1
    if "patch" not in resource.verbs:
        return
    below = "/namespaces/{namespace}" if resource.namespaced else ""
    path = f"{resource.group_version.path}{below}/{resource.plural}/{{name}}"
    patch = found["paths"][path]["patch"]
    assert patch["x-kubernetes-group-version-kind"] == kind
    assert "fieldValidation" in {parameter["name"] for parameter in patch["parameters"]}
    assert "application/strategic-merge-patch+json" in patch["requestBody"]["content"]


def test_operation_identifiers_are_unique() -> None:
    found = [
        operation["operationId"]
        for key in KEYS
        for item in document(key)["paths"].values()
        for method, operation in item.items()
        if method != "parameters"
    ]
    assert len(found) == len(set(found))
    assert "readCoreV1NamespacedPodStatus" in found
    assert "connectCoreV1GetNamespacedPodExec" in found
    assert "watchAppsV1DeploymentListForAllNamespaces" in found


@pytest.mark.parametrize(
    ("group", "camel"),
    [
        ("", "Core"),
        ("apps", "Apps"),
        ("rbac.authorization.k8s.io", "RbacAuthorization"),
        ("flowcontrol.apiserver.k8s.io", "FlowcontrolApiserver"),
        ("my-stable.example.com", "MyStableExampleCom"),
    ],
)
def test_groups_in_identifiers(group: str, camel: str) -> None:
    assert group_camel(group) == camel


def test_defaults_and_enumerations_are_rendered() -> None:
    schemas = document("api/v1")["components"]["schemas"]
    container = schemas["io.k8s.api.core.v1.Container"]["properties"]
    assert container["name"]["default"] == ""
    assert container["resources"]["default"] == {}
    assert "default" not in container["lifecycle"]
    assert container["imagePullPolicy"]["enum"] == ["Always", "IfNotPresent", "Never"]
    port = schemas["io.k8s.api.core.v1.ContainerPort"]["properties"]
    assert port["protocol"]["default"] == "TCP"
    spec = schemas["io.k8s.api.core.v1.PersistentVolumeSpec"]["properties"]
    assert spec["accessModes"]["items"]["enum"][0] == "ReadOnlyMany", "of elements of a list"
    controller = schemas["io.k8s.api.core.v1.ReplicationControllerSpec"]["properties"]
    assert controller["replicas"]["default"] == 1


def test_schemas_of_all_groups_name_only_the_one_at_hand() -> None:
    options = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions"
    found = document("apis/apps/v1")["components"]["schemas"][options]
    assert found["x-kubernetes-group-version-kind"] == [
        {"group": "apps", "version": "v1", "kind": "DeleteOptions"}
    ]


def test_a_hash_changes_with_the_resources_only() -> None:
    changed = catalog()
    one = OpenApiV3(changed, Definitions.load())
    pods = changed.lookup("", "v1", "pods")
    assert pods is not None
    before = {key: one.hash_of(key) for key in KEYS}
    assert before == {key: served().hash_of(key) for key in KEYS}
    changed.add(replace(pods, verbs=("get",)))
    after = {key: one.hash_of(key) for key in KEYS}
    assert [key for key in KEYS if before[key] != after[key]] == ["api/v1"]


@cache
def old() -> dict[str, Any]:
    decoded: dict[str, Any] = OpenApiV2(catalog(), Definitions.load()).document().decoded()
    return decoded


def test_version_two_has_no_references_or_words_of_version_three() -> None:
    text = json.encode(old())
    assert b"#/components/" not in text
    container = old()["definitions"]["io.k8s.api.core.v1.Container"]["properties"]
    assert container["lifecycle"]["$ref"] == "#/definitions/io.k8s.api.core.v1.Lifecycle"
    assert "default" not in container["name"]
    quantity = old()["definitions"]["io.k8s.apimachinery.pkg.api.resource.Quantity"]
    assert quantity["type"] == "string"


def test_version_two_has_every_path_of_version_three() -> None:
    paths = {path for key in KEYS for path in document(key)["paths"]}
    assert set(old()["paths"]) == paths


def fields(message: bytes) -> Iterator[tuple[int, Any]]:
    """A protobuf message taken apart: field number and value, the wire type decides how."""
    at = 0

    def varint() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(message):
        tag = varint()
        match tag & 7:
            case 0:
                yield tag >> 3, varint()
            case 1:
                yield tag >> 3, message[at : at + 8]
                at += 8
            case 2:
                length = varint()
                yield tag >> 3, message[at : at + length]
                at += length
            case other:
                raise AssertionError(other)


def one(message: bytes, *numbers: int) -> bytes:
    for number in numbers:
        message = next(value for found, value in fields(message) if found == number)
    return message


def fields_of(message: bytes) -> set[int]:
    return {number for number, _ in fields(message)}


def named(message: bytes, number: int) -> dict[str, bytes]:
    pairs = [dict(fields(value)) for found, value in fields(message) if found == number]
    return {pair[1].decode(): pair[2] for pair in pairs}


def test_parameters_of_version_two_that_belong_to_no_kind_stand_once_under_a_hash() -> None:
    found = old()
    item = found["paths"]["/api/v1/namespaces/{namespace}/configmaps/{name}"]
    deletes = {
        parameter.get("$ref", parameter.get("name")) for parameter in item["delete"]["parameters"]
    }
    assert deletes >= {"#/parameters/body-2Y1dVQaQ", "#/parameters/propagationPolicy-6jk3prlO"}
    assert "dryRun" in deletes
    assert [p.get("$ref", p.get("name")) for p in item["put"]["parameters"]] == [
        "body",
        "dryRun",
        "#/parameters/fieldManager-Qy4HdaTW",
        "fieldValidation",
    ]
    assert found["parameters"]["namespace-vgWSWtn3"]["in"] == "path"
    assert list(found["parameters"]) == sorted(found["parameters"])


def test_logs_and_connections_name_their_parameters() -> None:
    paths = document("api/v1")["paths"]
    pod = "/api/v1/namespaces/{namespace}/pods/{name}"

    def names(path: str) -> set[str]:
        return {parameter["name"] for parameter in paths[path]["parameters"]}

    assert names(f"{pod}/exec") == {
        *("command", "container", "name", "namespace", "stderr", "stdin", "stdout", "tty"),
    }
    assert {"follow", "tailLines", "pretty"} <= names(f"{pod}/log")
    log = paths[f"{pod}/log"]["get"]["responses"]["200"]["content"]
    assert log["text/plain"] == {"schema": {"type": "string"}}
    assert names("/api/v1/nodes/{name}/proxy/{path}") == {"name", "path"}
    identifiers = {
        operation["operationId"]
        for method, operation in paths[f"{pod}/proxy/{{path}}"].items()
        if method != "parameters"
    }
    assert "connectCoreV1HeadNamespacedPodProxyWithPath" in identifiers
    assert len(identifiers) == 7


def test_version_two_in_protobuf_has_the_kinds_and_their_fields() -> None:
    message = OpenApiV2(catalog(), Definitions.load()).protobuf()
    assert one(message, 1) == b"2.0"
    definitions = named(one(message, 9), 1)
    assert set(definitions) == set(old()["definitions"])
    pod = definitions["io.k8s.api.core.v1.Pod"]
    assert one(pod, 22, 1) == b"object"
    properties = named(one(pod, 25), 1)
    assert one(properties["spec"], 1) == b"#/definitions/io.k8s.api.core.v1.PodSpec"
    extensions = {name: one(value, 2) for name, value in named(pod, 31).items()}
    kinds = json.decode(extensions["x-kubernetes-group-version-kind"])
    assert kinds == [{"group": "", "version": "v1", "kind": "Pod"}]


def test_operations_in_protobuf_have_their_parameters() -> None:
    message = OpenApiV2(catalog(), Definitions.load()).protobuf()
    item = named(one(message, 8), 2)["/api/v1/namespaces/{namespace}/pods/{name}"]
    patch = one(item, 8)
    assert one(patch, 5) == b"patchCoreV1NamespacedPod"
    parameters = [value for number, value in fields(patch) if number == 8]
    shared = [one(value, 2, 1).decode() for value in parameters if fields_of(value) == {2}]
    own = [one(value, 1, 2, 3, 4) for value in parameters if fields_of(value) == {1}]
    assert shared[0] == "#/parameters/body-78PwaGsr"
    assert own == [b"dryRun", b"fieldValidation"]
    targets = named(one(message, 10), 1)
    assert {f"#/parameters/{name}" for name in targets} >= set(shared)
    assert one(targets["body-78PwaGsr"], 1, 2) == b"body"
    assert set(named(one(patch, 9), 1)) == {"200", "201", "401"}


def test_version_three_in_protobuf() -> None:
    message = served().protobuf("apis/policy/v1")
    assert message is not None
    assert one(message, 1) == b"3.0.0"
    schemas = named(one(message, 5, 1), 1)
    assert set(schemas) == set(document("apis/policy/v1")["components"]["schemas"])


def test_free_form_parts_of_schemas_in_protobuf() -> None:
    schema = {
        "type": "object",
        "additionalProperties": {"type": "string"},
        "items": {"$ref": "#/x"},
        "enum": ["a"],
        "default": 1.5,
        "unknown": 1,
        "x-own": [1],
    }
    body = gnostic.encode_v3({"components": {"schemas": {"S": schema, "T": {"default": True}}}})
    schemas = named(one(body, 5, 1), 1)
    found = one(schemas["S"], 1)
    assert one(found, 32, 1, 1, 25) == b"string"
    assert one(found, 30, 1, 2, 1) == b"#/x"
    assert one(found, 24, 2) == b'"a"'
    assert named(found, 36)["x-own"] == b"\x12\x03[1]"
    old_form = gnostic.encode_v2(
        {"definitions": {"S": {"additionalProperties": True}, "T": schema}}
    )
    definitions = named(one(old_form, 9), 1)
    assert list(fields(one(definitions["S"], 21))) == [(2, 1)]
