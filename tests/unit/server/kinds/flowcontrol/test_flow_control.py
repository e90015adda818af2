"""Flow schemas and priority levels."""

from __future__ import annotations

from typing import Any

import pytest

from proreus.api.wire import json
from proreus.server.views import JsonView, TableView
from proreus.server.views.list_encodings import json_pieces
from proreus.server.watch_cache.query import ListResult
from tests.unit.server.kinds.creating import errors, resource_of
from tests.unit.server.validated import at_once
from tests.unit.server.views.sample import NOW, StandingClock, cached, resource

FLOW = "flowcontrol.apiserver.k8s.io"


@pytest.mark.parametrize(
    ("rule", "problems"),
    [
        ({"verbs": ["look"], "clusterScope": True},
         ['verbs: Unsupported value: ["look"]: supported values: "create", "delete", '
          '"deletecollection", "get", "list", "patch", "proxy", "update", "watch"']),
        ({"resources": ["*", "pods"], "clusterScope": True},
         ["resources: Invalid value: [\"*\",\"pods\"]: if '*' is present, must not specify other "
          "resources"]),
        ({"namespaces": ["*", "a"]},
         ["namespaces: Invalid value: [\"*\",\"a\"]: if '*' is present, must not specify other "
          "namespaces"]),
    ],
)  # fmt: skip
def test_a_rule_of_a_flow_schema_is_validated(rule: dict[str, Any], problems: list[str]) -> None:
    whole = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], **rule}
    subject = {"kind": "User", "user": {"name": "u"}, "group": {"name": "g"}}
    rules = [{"subjects": [subject], "resourceRules": [whole]}]
    spec = {"priorityLevelConfiguration": {"name": "p"}, "rules": rules}

    found = errors("flowcontrol.apiserver.k8s.io/v1", "FlowSchema", spec=spec)

    assert [text.removeprefix("spec.rules[0].resourceRules[0].") for text in found] == [
        "spec.rules[0].subjects[0].group: Forbidden: group is forbidden when subject kind is not "
        "'Group'",
        *problems,
    ]


def spec_cells(group: str, kind: str, spec: dict[str, Any]) -> list[Any]:
    return resource_of(group, kind).printer.cells({"spec": spec}, NOW)


def test_only_limited_priority_levels_show_their_shares() -> None:
    exempt = {"type": "Exempt", "exempt": {"nominalConcurrencyShares": 5}}
    limited = {"type": "Limited", "limited": {"nominalConcurrencyShares": 7}}

    assert spec_cells(FLOW, "PriorityLevelConfiguration", exempt)[1:3] == ["Exempt", "<none>"]
    assert spec_cells(FLOW, "PriorityLevelConfiguration", limited)[1:3] == ["Limited", 7]


def test_flow_schemas_are_listed_in_the_order_they_are_tried() -> None:
    kind = resource("flowschemas", FLOW)
    view = TableView(kind.printer, JsonView(kind), StandingClock())
    precedences = {"a": 9, "b": 1, "c": 9}

    schemas = [
        cached(name, 3, {"spec": {"matchingPrecedence": precedence}})
        for name, precedence in precedences.items()
    ]
    rows = json.decode(b"".join(json_pieces(view.parts(ListResult(schemas, 9)))))["rows"]

    assert [row["cells"][0] for row in rows] == ["b", "a", "c"]


def test_what_is_wrong_with_a_mandatory_schema_comes_before_its_fixed_value() -> None:
    spec = {"matchingPrecedence": 20000, "priorityLevelConfiguration": {"name": "exempt"}}

    found = errors(f"{FLOW}/v1", "FlowSchema", metadata={"name": "exempt"}, spec=spec)

    assert [one.split(":")[0] for one in found] == ["spec.matchingPrecedence", "spec"]


@pytest.mark.parametrize(
    ("name", "spec", "fields"),
    [
        ("catch-all", {"type": "Limited", "limited": {"lendablePercent": 200,
                                                      "limitResponse": {"type": "Reject"}}},
         ["spec.limited.lendablePercent", "spec"]),
        ("exempt", {"type": "Odd"}, ["spec.type", "spec.type", "spec"]),
        ("exempt", {}, ["spec.type", "spec", "spec.type"]),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_mandatory_level_comes_before_its_fixed_value(
    name: str, spec: dict[str, Any], fields: list[str]
) -> None:
    kind = "PriorityLevelConfiguration"

    found = errors(f"{FLOW}/v1", kind, metadata={"name": name}, spec=spec)

    assert [one.split(":")[0] for one in found] == fields


@pytest.mark.parametrize("kind", ["FlowSchema", "PriorityLevelConfiguration"])
def test_a_status_has_each_condition_once(kind: str) -> None:
    conditions = [{"type": "A"}, {"type": "A"}, {"status": "True"}]
    rules = resource_of(FLOW, kind).rules

    found = at_once(rules.validate_status({"status": {"conditions": conditions}}, {}))

    assert [str(error) for error in found] == [
        'status.conditions[1].type: Duplicate value: "A"',
        "status.conditions[2].type: Required value: must not be empty",
    ]
