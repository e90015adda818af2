"""Tables of admission policies and flow control, and columns that are not what one expects."""

from __future__ import annotations

from typing import Any

import pytest

from proreus.api.group_version import GroupKind
from proreus.api.wire import json
from proreus.server.views import JsonView, TableView
from proreus.server.views.columns import printer_for
from proreus.server.watch_cache.query import Listing
from tests.unit.server.views.sample import NOW, StandingClock, cached, resource

ADMISSION, FLOW = "admissionregistration.k8s.io", "flowcontrol.apiserver.k8s.io"


def cells(group: str, kind: str, spec: dict[str, Any]) -> list[Any]:
    return printer_for(GroupKind(group, kind)).cells({"spec": spec}, NOW)


def column(group: str, kind: str, name: str) -> dict[str, Any]:
    found = printer_for(GroupKind(group, kind)).definitions()
    return next(definition for definition in found if definition["name"] == name)


@pytest.mark.parametrize(
    ("ref", "text"),
    [
        (None, "<unset>"),
        ({"name": "p", "namespace": "n"}, "n/p"),
        ({"name": "p"}, "*/p"),
        (
            {"selector": {"matchLabels": {"b": "2", "a": "1"}}},
            "&LabelSelector{MatchLabels:map[string]string{a: 1,b: 2,},"
            "MatchExpressions:[]LabelSelectorRequirement{},}",
        ),
        (
            {"selector": {"matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]}},
            "&LabelSelector{MatchLabels:map[string]string{},MatchExpressions:"
            "[]LabelSelectorRequirement{LabelSelectorRequirement{Key:a,Operator:In,Values:[b],},},}",
        ),
    ],
)
def test_a_policy_binding_says_which_parameters_it_takes(ref: Any, text: str) -> None:
    found = cells(ADMISSION, "ValidatingAdmissionPolicyBinding", {"paramRef": ref})

    assert found[2] == text


def test_only_limited_priority_levels_show_their_shares() -> None:
    exempt = {"type": "Exempt", "exempt": {"nominalConcurrencyShares": 5}}
    limited = {"type": "Limited", "limited": {"nominalConcurrencyShares": 7}}

    assert cells(FLOW, "PriorityLevelConfiguration", exempt)[1:3] == ["Exempt", "<none>"]
    assert cells(FLOW, "PriorityLevelConfiguration", limited)[1:3] == ["Limited", 7]


def test_flow_schemas_are_listed_in_the_order_they_are_tried() -> None:
    kind = resource("flowschemas", FLOW)
    view = TableView(printer_for(kind.group_kind), JsonView(kind), StandingClock())
    precedences = {"a": 9, "b": 1, "c": 9}

    schemas = [
        cached(name, 3, {"spec": {"matchingPrecedence": precedence}})
        for name, precedence in precedences.items()
    ]
    rows = json.decode(view.listing(Listing(schemas, 9)))["rows"]

    assert [row["cells"][0] for row in rows] == ["b", "a", "c"]


def test_columns_whose_type_or_format_is_not_that_of_their_cells() -> None:
    assert column(FLOW, "FlowSchema", "MatchingPrecedence")["type"] == "string"
    assert column(FLOW, "PriorityLevelConfiguration", "Queues")["type"] == "string"
    assert column("storage.k8s.io", "VolumeAttachment", "Attacher")["format"] == "name"
    assert column("autoscaling", "Scale", "Name")["format"] == ""
