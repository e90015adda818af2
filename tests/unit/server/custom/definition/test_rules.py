"""What a definition must look like."""

from __future__ import annotations

from typing import Any

import pytest

from proreus.server.custom.definition.rules import DEFINITION
from tests.unit.server.custom.definition.given import PLAIN, definition, field
from tests.unit.server.validated import at_once

PATHS = {"specReplicasPath": ".spec.n", "statusReplicasPath": ".status.n"}


ITEM = {"type": "object", "required": ["k"], "properties": {"k": {"type": "string"}}}
KEYED = {"type": "array", "items": ITEM, "x-kubernetes-list-type": "map",
         "x-kubernetes-list-map-keys": ["k"]}  # fmt: skip


def test_a_plain_definition_is_fine_and_completed() -> None:
    made = definition()

    assert at_once(DEFINITION.validate(made)) == []
    assert made["spec"]["names"]["listKind"] == "WidgetList"
    assert made["spec"]["conversion"] == {"strategy": "None"}
    assert made["status"]["storedVersions"] == ["v1"]


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({}, "type: Required value: must not be empty for specified object fields"),
        ({"type": "array"}, "items: Required value: must be specified"),
        ({"type": "string", "uniqueItems": True}, "uniqueItems: Forbidden"),
        ({"type": "string", "default": 1}, 'must be of type string: "integer"'),
        ({"type": "string", "pattern": "a(b"}, "missing closing ): `a(b`"),
        ({"type": "string", "pattern": "(?=a)"}, "invalid or unsupported Perl syntax: `(?=`"),
        ({"type": "string", "allOf": [{"type": "string"}]}, "must be empty to be structural"),
        ({"type": "string", "x-kubernetes-list-type": "set"}, "must be array"),
        ({"type": "object", "x-kubernetes-embedded-resource": True}, "must not be empty if"),
        ({"type": "float"}, 'type: Unsupported value: "float": supported values: "array", '),
        ({"type": "string", "$schema": "x"}, "OpenAPIV3Schema 'schema' is not supported"),
        ({"x-kubernetes-int-or-string": True, "x-kubernetes-preserve-unknown-fields": True},
         "must be false if x-kubernetes-int-or-string is true"),
        ({"type": "string", "x-kubernetes-map-type": "atomic"}, "must be object if"),
        ({**KEYED, "x-kubernetes-list-type": None}, "x-kubernetes-list-type: Required value"),
        ({**KEYED, "items": {**ITEM, "nullable": True}}, "cannot be nullable when"),
        ({**KEYED, "items": {**ITEM, "properties": {"k": {"type": "object"}}}},
         'Invalid value: "object": must be a scalar type'),
        ({"type": "object", "not": {"properties": {"metadata": {}}}}, "in a nested context"),
        ({"type": "string", "anyOf": [{"x-kubernetes-validations": [{"rule": "true"}]}]},
         "must be empty to be structural"),
        ({"type": "object", "required": ["b"], "default": {},
          "properties": {"b": {"type": "string", "default": "x"}}}, "default.b: Required value"),
    ],
)  # fmt: skip
def test_a_schema_that_is_not_structural_is_refused(schema: dict[str, Any], message: str) -> None:
    found = at_once(DEFINITION.validate(definition(field(schema))))

    assert len(found) == 1
    assert message in str(found[0])


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({"type": "array", "items": {"type": "integer"}, "default": ["x"]},
         'default.[0]: Invalid value: "string": [0] in body must be of type integer: "string"'),
        ({"type": "array", "default": [["x"]],
          "items": {"type": "array", "items": {"type": "integer"}}},
         'default.[0][0]: Invalid value: "string": [0][0] in body must be of type integer: '
         '"string"'),
        ({"type": "object", "additionalProperties": {"type": "string"}, "default": {"a": 1}},
         'default.a: Invalid value: "integer": .a in body must be of type string: "integer"'),
        ({"type": "object", "default": {"a": {"b": 1}},
          "additionalProperties": {"type": "object", "properties": {"b": {"type": "string"}}}},
         'default.a.b: Invalid value: "integer": .a.b in body must be of type string: "integer"'),
        ({"type": "object", "properties": {"a": {"type": "string"}}, "default": {"a": 1}},
         'default.a: Invalid value: "integer": a in body must be of type string: "integer"'),
        ({"type": "object", "default": {"z": {"y": 1, "x": 2}, "a": 1}},
         'default: Invalid value: {"a":1,"z":{"x":2,"y":1}}: must not have unknown fields'),
    ],
)  # fmt: skip
def test_a_bad_default_names_the_place_inside_of_it(schema: dict[str, Any], message: str) -> None:
    found = at_once(DEFINITION.validate(definition(field(schema))))

    assert [str(error).partition("properties[a].")[2] for error in found] == [message]


def test_faults_of_structure_and_of_keywords_are_reported_together() -> None:
    schema = {"type": "object", "properties": {
        "a": {}, "b": {"type": "array", "uniqueItems": True}}}  # fmt: skip

    found = at_once(DEFINITION.validate(definition(field(schema))))

    at = "spec.validation.openAPIV3Schema.properties[spec].properties[a].properties"
    assert [error.field for error in found] == [
        f"{at}[a].type",
        f"{at}[b].items",
        f"{at}[b].uniqueItems",
    ]


def test_what_the_root_requires_of_a_deep_field_must_be_declared_there() -> None:
    deep = {"spec": {"properties": {"a": {"properties": {"b": {"minimum": 1}}}}}}
    schema = {**field({"type": "object"}), "anyOf": [{"properties": deep}]}

    found = at_once(DEFINITION.validate(definition(schema)))

    at = "spec.validation.openAPIV3Schema"
    inside = "properties[spec].properties[a].properties[b]"
    assert [str(error) for error in found] == [
        f"{at}.{inside}: Required value: because it is defined in {at}.anyOf[0].{inside}"
    ]


def test_a_root_that_status_could_not_obey_alone_is_refused() -> None:
    schema = {**PLAIN, "anyOf": [{"required": ["spec"]}]}

    assert at_once(DEFINITION.validate(definition(schema))) == []
    found = at_once(DEFINITION.validate(definition(schema, subresources={"status": {}})))
    assert "fields are allowed at the root of the schema if the status subresource" in str(found)


def test_an_update_reports_what_is_immutable_after_what_is_wrong() -> None:
    old, new = definition(), definition(field({}))
    new["spec"]["group"] = "other.example.com"

    found = at_once(DEFINITION.check_update(new, old))

    assert [error.field for error in found] == [
        "spec.validation.openAPIV3Schema.properties[spec].properties[a].type",
        "spec.group",
    ]


def test_a_negated_schema_may_refuse_further_properties() -> None:
    made = definition(field({"type": "object", "not": {"additionalProperties": False}}))

    assert at_once(DEFINITION.validate(made)) == []


@pytest.mark.parametrize(
    ("keyword", "place"),
    [
        ({"type": "object", "definitions": {"d": {"type": "float"}}}, "definitions[d]"),
        ({"type": "object", "dependencies": {"d": {"type": "float"}, "e": ["f"]}},
         "dependencies[d]"),
        ({"type": "array", "items": [{"type": "string"}, {"type": "float"}]}, "items[1]"),
    ],
)  # fmt: skip
def test_what_stands_below_a_refused_keyword_is_checked_too(
    keyword: dict[str, Any], place: str
) -> None:
    found = at_once(DEFINITION.validate(definition(field(keyword))))

    assert len(found) == 2
    assert found[1].field.endswith(f"properties[a].{place}.type")


def test_int_or_string_may_say_its_types_in_a_junctor() -> None:
    schema = {
        "x-kubernetes-int-or-string": True,
        "anyOf": [{"type": "integer"}, {"type": "string"}],
    }

    assert at_once(DEFINITION.validate(definition(field(schema)))) == []


def test_int_or_string_says_its_types_in_the_first_of_all_junctors_or_not_at_all() -> None:
    types = {"anyOf": [{"type": "integer"}, {"type": "string"}]}
    schema = {"x-kubernetes-int-or-string": True, "allOf": [{"pattern": "a"}, types]}

    found = at_once(DEFINITION.validate(definition(field(schema))))

    assert [str(error).partition("[a].")[2] for error in found] == [
        "allOf[1].anyOf[0].type: Forbidden: must be empty to be structural",
        "allOf[1].anyOf[1].type: Forbidden: must be empty to be structural",
    ]


def test_a_default_of_int_or_string_is_of_any_type() -> None:
    schema = {"x-kubernetes-int-or-string": True, "default": 1.5}

    assert at_once(DEFINITION.validate(definition(field(schema)))) == []


@pytest.mark.parametrize(
    ("default", "messages"),
    [
        ({}, ["apiVersion: Required value", "kind: Required value"]),
        ({"apiVersion": "v1", "kind": "Pod"}, []),
        ({"apiVersion": "v1", "kind": 1}, ["kind: Invalid value: 1: must be a string"]),
        ({"apiVersion": "v1", "kind": "Pod", "metadata": {"labels": {"a": 1}}},
         ['metadata: Invalid value: {"labels":{"a":1}}: json: cannot unmarshal number into Go '
          "struct field ObjectMeta.labels of type string"]),
    ],
)  # fmt: skip
def test_a_default_that_is_a_resource_is_a_good_one(default: Any, messages: list[str]) -> None:
    resource = {"type": "object", "x-kubernetes-embedded-resource": True, "default": default,
                "x-kubernetes-preserve-unknown-fields": True}  # fmt: skip

    found = at_once(DEFINITION.validate(definition(field(resource))))

    assert [str(error).partition(".default.")[2] for error in found] == messages


def test_a_default_of_the_whole_object_is_a_resource() -> None:
    found = at_once(DEFINITION.validate(definition({"type": "object", "default": {}})))

    assert [error.field.partition(".default.")[2] for error in found] == ["apiVersion", "kind"]


def test_a_webhook_that_says_nothing_is_not_kept() -> None:
    made = definition()
    made["spec"]["conversion"] = {"strategy": "None", "webhook": {"conversionReviewVersions": None}}

    DEFINITION.default(made)

    assert made["spec"]["conversion"] == {"strategy": "None"}


@pytest.mark.parametrize(
    ("part", "message"),
    [
        (
            {"subresources": {"scale": {"specReplicasPath": ".status.n"}}},
            "specReplicasPath: Invalid value",
        ),
        ({"selectableFields": [{"jsonPath": ".spec.none"}]}, "does not refer to a valid field"),
        ({"selectableFields": [{"jsonPath": ".spec['a']"}]}, "array notation is not allowed"),
        ({"selectableFields": [{"jsonPath": ".spec"}]}, "must point to a field of type string"),
        (
            {"subresources": {"scale": {**PATHS, "labelSelectorPath": ".other.x"}}},
            "should be a json path under either .spec or .status",
        ),
        (
            {"subresources": {"scale": {**PATHS, "specReplicasPath": "spec.n"}}},
            "must be a simple json path starting with .",
        ),
        ({"deprecated": True, "deprecationWarning": ""}, "must not be an empty string"),
        ({"deprecated": True, "deprecationWarning": "x" * 257}, "must be <= 256 characters long"),
        ({"deprecated": True, "deprecationWarning": "é\n"}, "character found at index 2"),
        ({"additionalPrinterColumns": [{"name": "A", "type": "x"}]}, "must be one of boolean"),
        ({"deprecationWarning": "old"}, "can only be set for deprecated versions"),
    ],
)
def test_parts_of_a_version_are_checked(part: dict[str, Any], message: str) -> None:
    found = at_once(DEFINITION.validate(definition(**part)))

    assert any(message in str(error) for error in found)


def test_a_protected_group_needs_approval() -> None:
    made = definition()
    made["metadata"]["name"] = "widgets.example.k8s.io"
    made["spec"]["group"] = "example.k8s.io"

    assert "protected groups must have approval" in str(at_once(DEFINITION.validate(made))[0])


def test_a_status_may_only_accept_names_that_are_some() -> None:
    made = definition()
    made["status"]["acceptedNames"] = {
        "plural": "widgets",
        "kind": "Not_A_Kind",
        "shortNames": [""],
    }

    found = at_once(DEFINITION.validate_status(made, definition()))

    assert [error.field for error in found] == [
        "status.acceptedNames.kind",
        "status.acceptedNames.shortNames[0]",
    ]


def test_a_name_is_never_generated() -> None:
    made = definition()
    made["metadata"]["generateName"] = "widgets-"

    assert [error.field for error in at_once(DEFINITION.validate(made))] == [
        "metadata.generateName"
    ]


def test_a_conversion_that_is_given_says_how() -> None:
    made = definition()
    made["spec"]["conversion"] = {}
    DEFINITION.default(made)

    found = at_once(DEFINITION.validate(made))

    assert [str(fault) for fault in found] == ["spec.conversion.strategy: Required value"]


@pytest.mark.parametrize("text", ["https://x y", " https://a.b", "https://a.b/%zz", "mailto:a@b"])
def test_only_a_url_is_an_approval(text: str) -> None:
    made = definition()
    made["spec"]["group"] = "example.k8s.io"
    made["metadata"] = {
        "name": "widgets.example.k8s.io",
        "annotations": {"api-approved.kubernetes.io": text},
    }

    found = at_once(DEFINITION.validate(made))

    assert [error.field for error in found] == ["metadata.annotations[api-approved.kubernetes.io]"]


@pytest.mark.parametrize(
    ("keyword", "is_set"),
    [
        ({"x-kubernetes-list-type": ""}, True),
        ({"multipleOf": 0}, True),
        ({"maxProperties": 0}, True),
        ({"title": ""}, False),
        ({"nullable": False}, False),
    ],
)
def test_metadata_may_not_be_restricted_by_keywords_that_are_set_though_empty(
    keyword: dict[str, Any], is_set: bool
) -> None:
    made = definition({"type": "object", "properties": {"metadata": {"type": "object", **keyword}}})

    found = [error.field for error in at_once(DEFINITION.validate(made))]

    assert ("spec.validation.openAPIV3Schema.properties[metadata]" in found) is is_set
