"""Schemas of custom kinds, as clients find them in OpenAPI documents."""

from __future__ import annotations

from typing import Any

import pytest

from proreus.server.custom.schema.structural import parsed
from proreus.server.custom.serving.openapi import PublishedSchemas
from proreus.server.discovery.openapi_v2 import OpenApiV2
from proreus.server.discovery.openapi_v3 import OpenApiV3
from proreus.server.kinds.parts.scale import SCALE
from proreus.server.registry.catalog import Catalog
from proreus.server.resource import CustomVersion, Names, Resource, SelectableFields

WIDGETS = Resource(
    names=Names.of("example.com", "v1", "Widget", "widgets"),
    namespaced=True,
    has_status=True,
    subresources=(SCALE,),
    selectable=SelectableFields(names=("spec.size",)),
    custom=CustomVersion(),
)
NAME = "com.example.v1.Widget"
EITHER = [{"type": "integer"}, {"type": "string"}]
ROOT = "/apis/example.com/v1"


def documents(**spec: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Of version three and of version two."""
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": spec}}}
    published = PublishedSchemas()
    published.put(WIDGETS, parsed(schema))
    catalog = Catalog([WIDGETS])
    third = OpenApiV3(catalog, published).document("apis/example.com/v1")
    assert third is not None
    return third.decoded(), OpenApiV2(catalog, published).document().decoded()


def fields(document: dict[str, Any]) -> Any:
    definitions = document.get("definitions") or document["components"]["schemas"]
    return definitions[NAME]["properties"]["spec"]["properties"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, {"anyOf": EITHER}),
        ({"anyOf": EITHER}, {"anyOf": EITHER}),
        ({"allOf": [{"anyOf": EITHER}]}, {"allOf": [{"anyOf": EITHER}]}),
        ({"anyOf": [{"minimum": 1}]}, {"anyOf": [{"minimum": 1}], "allOf": [{"anyOf": EITHER}]}),
    ],
)
def test_what_is_an_integer_or_a_string_says_so_in_everybodys_words(
    given: dict[str, Any], said: dict[str, Any]
) -> None:
    keyword = {"x-kubernetes-int-or-string": True}

    third, second = documents(port={**keyword, **given})

    assert fields(third)["port"] == {**keyword, **said}
    assert fields(second)["port"] == keyword


def test_version_two_keeps_defaults_of_custom_kinds() -> None:
    _, second = documents(size={"type": "integer", "default": 3})

    assert fields(second)["size"] == {"type": "integer", "default": 3}


def test_version_two_requires_no_type_of_a_resource_of_any_fields() -> None:
    any_resource = {
        "type": "object",
        "x-kubernetes-embedded-resource": True,
        "x-kubernetes-preserve-unknown-fields": True,
    }

    third, second = documents(template=any_resource)

    assert fields(third)["template"]["required"] == ["kind", "apiVersion"]
    assert "required" not in fields(second)["template"]


def test_selectable_fields_are_named() -> None:
    for document in documents():
        definitions = document.get("definitions") or document["components"]["schemas"]
        for name in (NAME, f"{NAME}List"):
            assert definitions[name]["x-kubernetes-selectable-fields"] == [
                {"fieldPath": "spec.size"}
            ]


def test_paths_of_custom_kinds_say_what_kubernetes_says_of_them() -> None:
    third, _ = documents()
    collection = third["paths"][f"{ROOT}/namespaces/{{namespace}}/widgets"]
    item = third["paths"][f"{ROOT}/namespaces/{{namespace}}/widgets/{{name}}"]

    assert set(third["paths"]) == {
        f"{ROOT}/widgets",
        f"{ROOT}/namespaces/{{namespace}}/widgets",
        f"{ROOT}/namespaces/{{namespace}}/widgets/{{name}}",
        f"{ROOT}/namespaces/{{namespace}}/widgets/{{name}}/scale",
        f"{ROOT}/namespaces/{{namespace}}/widgets/{{name}}/status",
    }
    plain = {"application/json", "application/yaml"}
    assert set(collection["get"]["responses"]["200"]["content"]) == plain
    assert set(collection["post"]["requestBody"]["content"]) == plain
    assert "requestBody" not in collection["delete"]
    assert collection["delete"]["parameters"] == collection["get"]["parameters"]
    assert [one["name"] for one in item["get"]["parameters"]] == ["resourceVersion"]
    assert set(item["patch"]["responses"]) == {"200", "401"}
    scale = third["paths"][f"{ROOT}/namespaces/{{namespace}}/widgets/{{name}}/scale"]["get"]
    assert scale["x-kubernetes-group-version-kind"]["kind"] == "Widget"


def test_groups_of_custom_kinds_have_no_documents_of_their_own() -> None:
    published = PublishedSchemas()
    published.put(WIDGETS, parsed({"type": "object"}))

    index = OpenApiV3(Catalog([WIDGETS]), published).index().decoded()

    assert set(index["paths"]) == {"api", "apis", "version", "apis/example.com/v1"}
