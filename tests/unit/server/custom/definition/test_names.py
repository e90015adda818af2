"""Which names a definition gets, and what its conditions say."""

from __future__ import annotations

from typing import Any

import pytest

from proreus.server.custom.definition import conditions, names
from tests.unit.server.custom.definition.given import definition


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
