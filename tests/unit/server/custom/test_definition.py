"""What a definition must look like, and which names it gets."""

from __future__ import annotations

from typing import Any

import pytest

from proreus.server.custom import conditions, names
from proreus.server.custom.definition import DEFINITION

PLAIN = {"type": "object", "properties": {"spec": {"type": "object"}}}


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

    assert DEFINITION.validate(made) == []
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
    ],
)
def test_a_schema_that_is_not_structural_is_refused(schema: dict[str, Any], message: str) -> None:
    found = DEFINITION.validate(definition(field(schema)))

    assert len(found) == 1
    assert message in str(found[0])


def test_int_or_string_may_say_its_types_in_a_junctor() -> None:
    schema = {
        "x-kubernetes-int-or-string": True,
        "anyOf": [{"type": "integer"}, {"type": "string"}],
    }

    assert DEFINITION.validate(definition(field(schema))) == []


@pytest.mark.parametrize(
    ("part", "message"),
    [
        (
            {"subresources": {"scale": {"specReplicasPath": ".status.n"}}},
            "specReplicasPath: Invalid value",
        ),
        ({"selectableFields": [{"jsonPath": ".spec.none"}]}, "must be a valid path"),
        ({"additionalPrinterColumns": [{"name": "A", "type": "x"}]}, "must be one of boolean"),
        ({"deprecationWarning": "old"}, "can only be set for deprecated versions"),
    ],
)
def test_parts_of_a_version_are_checked(part: dict[str, Any], message: str) -> None:
    found = DEFINITION.validate(definition(**part))

    assert any(message in str(error) for error in found)


def test_a_protected_group_needs_approval() -> None:
    made = definition()
    made["metadata"]["name"] = "widgets.example.k8s.io"
    made["spec"]["group"] = "example.k8s.io"

    assert "protected groups must have approval" in str(DEFINITION.validate(made)[0])


def test_the_first_definition_gets_its_names() -> None:
    made = definition()

    status = names.decided(made, [], 0)

    assert status["acceptedNames"]["kind"] == "Widget"
    assert conditions.is_true({"status": status}, conditions.ESTABLISHED)


def test_a_taken_kind_is_refused_and_given_when_it_is_free() -> None:
    first = definition()
    first["status"] = names.decided(first, [], 0)
    second = definition(plural="gadgets")

    second["status"] = names.decided(second, [first], 0)
    assert conditions.find(second, "NamesAccepted") == {
        "type": "NamesAccepted",
        "status": "False",
        "lastTransitionTime": "1970-01-01T00:00:00Z",
        "reason": "ListKindConflict",
        "message": '"WidgetList" is already in use',
    }
    assert not conditions.is_true(second, conditions.ESTABLISHED)

    second["status"] = names.decided(second, [], 1)
    assert conditions.is_true(second, conditions.ESTABLISHED)


def test_versions_once_stored_stay() -> None:
    old = definition()
    new = definition(name="v2")
    new["status"] = old["status"]
    DEFINITION.prepare_update(new, old)

    found = DEFINITION.validate_update(new, old)

    assert new["status"]["storedVersions"] == ["v1", "v2"]
    assert "must remain in spec.versions" in str(found[0])
