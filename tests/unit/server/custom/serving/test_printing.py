"""Columns of custom kinds."""

from __future__ import annotations

from typing import Any

import pytest

from proreus.server.custom.serving.printer import column_printer

OBJ: dict[str, Any] = {
    "metadata": {"name": "a", "creationTimestamp": "1970-01-01T00:00:00Z"},
    "spec": {
        "l": [{"n": "a", "v": 1}],
        "o": {"x": None},
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
    ],
)
def test_a_cell_is_of_its_columns_type(kind: str, path: str, cell: Any) -> None:
    printer = column_printer([column(kind, path)])

    assert printer.cells(OBJ, 60) == ["a", cell]


def test_one_unreadable_column_leaves_only_the_name() -> None:
    printer = column_printer([column("string", ".spec.x"), column("string", ".spec[")])

    assert [definition["name"] for definition in printer.definitions()] == ["Name"]
    assert printer.cells(OBJ, 0) == ["a"]
