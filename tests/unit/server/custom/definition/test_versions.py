"""What the versions of a definition must look like, alone and together."""

from __future__ import annotations

import json

from proreus.server.custom.definition.rules import DEFINITION
from tests.unit.server.custom.definition.given import PLAIN, definition, field
from tests.unit.server.validated import at_once


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


def test_versions_once_stored_stay() -> None:
    old = definition()
    new = definition(name="v2")
    new["status"] = old["status"]
    DEFINITION.prepare_update(new, old)

    found = at_once(DEFINITION.check_update(new, old))

    assert new["status"]["storedVersions"] == ["v1", "v2"]
    assert "must remain in spec.versions" in str(found[0])


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


def test_versions_that_are_not_there_are_printed_as_null() -> None:
    made = definition()
    del made["spec"]["versions"]

    found = at_once(DEFINITION.validate(made))

    assert str(found[0]).startswith("spec.versions: Invalid value: null: must have exactly one")
