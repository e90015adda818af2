"""What tables print, whatever the kind."""

from __future__ import annotations

from typing import Any

import pytest

from proreus.server.kinds import builtin_resources
from proreus.server.kinds.parts.scale import SCALE
from tests.unit.server.kinds.creating import resource_of
from tests.unit.server.kinds.printing import cells
from tests.unit.server.views.sample import MINUTE_AGO, NOW

FLOW = "flowcontrol.apiserver.k8s.io"


@pytest.mark.parametrize("found", builtin_resources(), ids=repr)
def test_every_kind_can_print_an_object_that_has_nothing(found: Any) -> None:
    printer = found.printer
    bare: list[dict[str, Any]] = [{}, {"metadata": {}}, {"spec": {}, "status": {}}]
    for obj in bare:
        assert len(printer.cells(obj, NOW)) == len(printer.columns)
        assert not printer.conditions(obj)


def test_kinds_without_columns_show_name_and_creation_time() -> None:
    assert cells("", "LimitRange", {}) == ["x", MINUTE_AGO]


def test_an_unreadable_time_is_unknown() -> None:
    assert cells("", "ConfigMap", {}, creationTimestamp="yesterday")[2] == "<unknown>"


def column(group: str, kind: str, name: str) -> dict[str, Any]:
    found = resource_of(group, kind).printer.definitions()
    return next(definition for definition in found if definition["name"] == name)


def test_columns_whose_type_or_format_is_not_that_of_their_cells() -> None:
    assert column(FLOW, "FlowSchema", "MatchingPrecedence")["type"] == "string"
    assert column(FLOW, "PriorityLevelConfiguration", "Queues")["type"] == "string"
    assert column("storage.k8s.io", "VolumeAttachment", "Attacher")["format"] == "name"
    assert SCALE.printer.definitions()[0]["format"] == ""
