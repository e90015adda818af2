"""Flow schemas and priority levels."""

from __future__ import annotations

from typing import Any

import pytest

from proreus.api.wire import json
from proreus.server.views import JsonView, TableView
from proreus.server.views.list_encodings import json_pieces
from proreus.server.watch_cache.query import ListResult
from tests.unit.server.kinds.creating import errors, resource_of
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
