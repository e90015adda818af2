"""What a definition must look like, and which names it gets."""

from __future__ import annotations

import json
from typing import Any

import pytest

from proreus.server.custom.definition import conditions, names
from proreus.server.custom.definition.rules import DEFINITION
from tests.unit.server.validated import at_once

PATHS = {"specReplicasPath": ".spec.n", "statusReplicasPath": ".status.n"}
PLAIN = {"type": "object", "properties": {"spec": {"type": "object"}}}


ITEM = {"type": "object", "required": ["k"], "properties": {"k": {"type": "string"}}}
KEYED = {"type": "array", "items": ITEM, "x-kubernetes-list-type": "map",
         "x-kubernetes-list-map-keys": ["k"]}  # fmt: skip


def definition(schema: Any = None, *, plural: str = "widgets", kind: str = "Widget",
               **version: Any) -> dict[str, Any]:  # fmt: skip
    made: dict[str, Any] = {
        "metadata": {"name": f"{plural}.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": kind},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": schema or PLAIN},
                    **version,
                }
            ],
        },
    }
    DEFINITION.default(made)
    DEFINITION.prepare_create(made)
    return made


def field(schema: dict[str, Any]) -> dict[str, Any]:
    spec = {"type": "object", "properties": {"a": schema}}
    return {"type": "object", "properties": {"spec": spec}}


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


def test_what_differs_between_versions_is_reported_with_its_version_before_the_names() -> None:
    made = definition(field({}))
    made["spec"]["versions"].append({**definition()["spec"]["versions"][0], "name": "v2",
                                     "storage": False})  # fmt: skip
    made["spec"]["names"]["shortNames"] = ["Not"]

    found = at_once(DEFINITION.validate(made))

    assert [error.field for error in found] == [
        "spec.versions[0].schema.openAPIV3Schema.properties[spec].properties[a].type",
        "spec.names.shortNames[0]",
    ]


SHARED_UNTYPED = (
    'spec.selectableFields: Invalid value: "": may only be set when validations.schema is included'
)


def test_selectable_fields_that_all_versions_share_need_a_schema_they_share() -> None:
    asked = [{"jsonPath": ".spec.none"}]
    alike, other = definition(selectableFields=asked), definition(selectableFields=asked)
    for made, schema in ((alike, PLAIN), (other, field({"type": "string"}))):
        second = {**made["spec"]["versions"][0], "name": "v2", "storage": False}
        made["spec"]["versions"].append({**second, "schema": {"openAPIV3Schema": schema}})

    found = [[*map(str, at_once(DEFINITION.validate(one)))] for one in (alike, other)]

    assert found == [
        [
            'spec.selectableFields[0].jsonPath: Invalid value: ".spec.none": is an invalid path: '
            "does not refer to a valid field"
        ],
        [SHARED_UNTYPED],
    ]


def test_selectable_fields_of_one_version_need_a_schema_of_its_own() -> None:
    made = definition(field({"type": "string"}), selectableFields=[{"jsonPath": ".spec.a"}])
    second = {**made["spec"]["versions"][0], "name": "v2", "storage": False}
    del second["selectableFields"]
    made["spec"]["versions"].append(second)

    found = at_once(DEFINITION.validate(made))

    assert [str(fault) for fault in found] == [
        'spec.versions[0].selectableFields: Invalid value: "": may only be set when '
        "`version.schema.openAPIV3Schema` is not included"
    ]


def test_a_version_without_a_schema_is_refused_with_its_selectable_fields() -> None:
    made = definition(selectableFields=[{"jsonPath": ".spec.a"}])
    del made["spec"]["versions"][0]["schema"]

    found = at_once(DEFINITION.validate(made))

    assert [str(fault) for fault in found] == [
        "spec.versions[0].schema.openAPIV3Schema: Required value",
        SHARED_UNTYPED,
    ]


def test_versions_are_printed_in_their_internal_form_without_what_they_share() -> None:
    made = definition(storage=False, deprecated=True)
    second = {**made["spec"]["versions"][0], "name": "v2", "deprecationWarning": "<old>"}
    column = {"name": "a", "type": "string", "jsonPath": ".a"}
    made["spec"]["versions"].append({**second, "additionalPrinterColumns": [column]})

    found = at_once(DEFINITION.validate(made))

    rest = '"Deprecated":true,"DeprecationWarning":'
    assert found[0].message == (
        f'Invalid value: [{{"Name":"v1","Served":true,"Storage":false,{rest}null,'
        '"Schema":null,"Subresources":null,"AdditionalPrinterColumns":null,'
        f'"SelectableFields":null}},{{"Name":"v2","Served":true,"Storage":false,{rest}'
        '"\\u003cold\\u003e","Schema":null,"Subresources":null,"AdditionalPrinterColumns":'
        '[{"Name":"a","Type":"string","Format":"","Description":"","Priority":0,'
        '"JSONPath":".a"}],"SelectableFields":null}]: '
        "must have exactly one version marked as storage version"
    )


def test_a_root_schema_is_printed_in_its_internal_form() -> None:
    schema = {**PLAIN, "anyOf": [{"required": ["a"], "maximum": 5.0}], "default": {"b": 1, "a": 2}}
    made = definition(schema, subresources={"status": {}})

    found = at_once(DEFINITION.validate(made))

    printed = json.loads(found[0].message.removeprefix("Invalid value: ").partition(": only [")[0])
    assert list(printed)[:5] == ["ID", "Schema", "Ref", "Description", "Type"]
    assert [*printed["Default"]] == ["a", "b"]
    assert printed["AnyOf"][0] == {**dict.fromkeys(printed), **{
        "ID": "", "Schema": "", "Description": "", "Type": "", "Nullable": False, "Format": "",
        "Title": "", "Maximum": 5, "ExclusiveMaximum": False, "ExclusiveMinimum": False,
        "Pattern": "", "UniqueItems": False, "Required": ["a"], "XEmbeddedResource": False,
        "XIntOrString": False,
    }}  # fmt: skip


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


def test_the_first_definition_gets_its_names() -> None:
    made = definition()

    status = names.names_status(made, [], 0)

    assert status["acceptedNames"]["kind"] == "Widget"
    assert conditions.is_true({"status": status}, conditions.ESTABLISHED)


def test_a_taken_kind_is_refused_and_given_when_it_is_free() -> None:
    first = definition()
    first["status"] = names.names_status(first, [], 0)
    second = definition(plural="gadgets")

    second["status"] = names.names_status(second, [first], 0)
    assert conditions.find(second, "NamesAccepted") == {
        "type": "NamesAccepted",
        "status": "False",
        "lastTransitionTime": "1970-01-01T00:00:00Z",
        "reason": "ListKindConflict",
        "message": '"WidgetList" is already in use',
    }
    assert not conditions.is_true(second, conditions.ESTABLISHED)

    second["status"] = names.names_status(second, [], 1)
    assert conditions.is_true(second, conditions.ESTABLISHED)


def test_who_has_its_names_keeps_its_conditions_however_few() -> None:
    made = definition()
    made["status"] = {**names.names_status(made, [], 0), "conditions": []}

    assert names.names_status(made, [], 1) == made["status"]

    made["spec"]["names"]["shortNames"] = ["wd"]
    again = names.names_status(made, [], 1)["conditions"]
    assert [one["type"] for one in again] == ["NamesAccepted", "Established"]


@pytest.mark.parametrize(
    ("asked", "reason"),
    [({"shortNames": ["widget"]}, "ShortNamesConflict"), ({"singular": "wd"}, "SingularConflict")],
)
def test_a_definition_holds_its_own_names_from_others_of_it(
    asked: dict[str, Any], reason: str
) -> None:
    made = definition()
    made["spec"]["names"]["shortNames"] = ["wd"]
    made["status"] = names.names_status(made, [], 0)

    made["spec"]["names"] |= asked
    status = names.names_status(made, [], 1)

    assert (conditions.find({"status": status}, "NamesAccepted") or {})["reason"] == reason
    assert status["acceptedNames"]["singular"] == "widget"
    assert status["acceptedNames"]["shortNames"] == ["wd"]
    assert conditions.is_true({"status": status}, conditions.ESTABLISHED)


def test_a_definition_whose_webhook_has_no_readable_certificates_is_not_established() -> None:
    made = definition()
    config = {"url": "https://a/b", "caBundle": "eHg="}
    webhook = {"clientConfig": config, "conversionReviewVersions": ["v1"]}
    made["spec"]["conversion"] = {"strategy": "Webhook", "webhook": webhook}
    made["status"] = names.names_status(made, [], 0)

    found = conditions.find(made, conditions.ESTABLISHED) or {}
    assert (found["status"], found["reason"]) == ("False", "InvalidCABundle")
    assert found["message"] == "The conversion webhook CABundle is invalid"

    made["spec"]["conversion"] = {"strategy": "None"}
    made["status"] = names.names_status(made, [], 1)
    assert conditions.is_true(made, conditions.ESTABLISHED)


def test_versions_once_stored_stay() -> None:
    old = definition()
    new = definition(name="v2")
    new["status"] = old["status"]
    DEFINITION.prepare_update(new, old)

    found = at_once(DEFINITION.check_update(new, old))

    assert new["status"]["storedVersions"] == ["v1", "v2"]
    assert "must remain in spec.versions" in str(found[0])


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


def test_every_version_that_is_stored_is_among_those_that_were() -> None:
    made = definition()
    second = {**made["spec"]["versions"][0], "name": "v2"}
    made["spec"]["versions"].append(second)
    made["status"] = {}
    DEFINITION.prepare_create(made)

    found = at_once(DEFINITION.validate(made))

    assert made["status"]["storedVersions"] == ["v1"]
    assert [fault.field for fault in found] == ["spec.versions", "status.storedVersions"]
    assert found[1].message == 'Invalid value: ["v1"]: must have the storage version v2'


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
