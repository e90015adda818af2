"""Columns of custom kinds."""

from __future__ import annotations

from typing import Any

import pytest

from proreus.api.group_version import GroupVersionKind
from proreus.server.custom.serving.printer import column_printer

OBJ: dict[str, Any] = {
    "metadata": {"name": "a", "creationTimestamp": "1970-01-01T00:00:00Z"},
    "spec": {
        "l": [{"n": "a", "v": 1}],
        "o": {"x": None},
        "empty": "",
        "html": {"b": "<b>", "a": "&"},
        "huge": 1e21,
        "f": [0.1234567, 1234567.5, -0.00001, 123456.5],
    },
}


def column(kind: str, path: str) -> dict[str, str]:
    return {"name": "C", "type": kind, "jsonPath": path}


@pytest.mark.parametrize(
    ("kind", "path", "cell"),
    [
        ("string", ".spec.l[0]", '{"n":"a","v":1}'),
        ("string", ".spec.o.x", "<no value>"),
        ("string", ".spec.none", None),
        ("integer", ".spec.l[0].v", 1),
        ("integer", ".spec.l[0].n", None),
        ("string", ".spec.f[0]", "0.1234567"),
        ("string", ".spec.f[1]", "1.2345675e+06"),
        ("string", ".spec.f[2]", "-1e-05"),
        ("string", ".spec.f[3]", "123456.5"),
        ("date", ".metadata.creationTimestamp", "60s"),
        ("date", ".spec.empty", "<unknown>"),
        ("date", ".spec.o.x", None),
        ("date", ".spec.l[0].n", "<invalid>"),
        ("string", ".spec.html", r'{"a":"\u0026","b":"\u003cb\u003e"}'),
        ("integer", ".spec.huge", -(2**63)),
    ],
)
def test_a_cell_is_of_its_columns_type(kind: str, path: str, cell: Any) -> None:
    printer = column_printer([column(kind, path)])

    assert printer.cells(OBJ, 60) == ["a", cell]


def test_one_unreadable_column_leaves_only_the_name() -> None:
    printer = column_printer([column("string", ".spec.x"), column("string", ".spec[")])

    assert [definition["name"] for definition in printer.definitions()] == ["Name"]
    assert printer.cells(OBJ, 0) == ["a"]


def test_a_column_may_show_the_type() -> None:
    columns = [column("string", ".kind"), column("string", ".apiVersion")]

    printer = column_printer(columns, GroupVersionKind("example.com", "v1", "Widget"))

    assert printer.cells(OBJ, 0) == ["a", "Widget", "example.com/v1"]
