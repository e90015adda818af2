"""Columns and paths of custom kinds."""

from __future__ import annotations

from typing import Any

import pytest

from proreus.server.custom.jsonpath import JsonPath, PathError
from proreus.server.custom.printer import ColumnPrinter

OBJ: dict[str, Any] = {
    "metadata": {"name": "a", "creationTimestamp": "1970-01-01T00:00:00Z"},
    "spec": {
        "l": [{"n": "a", "v": 1}, {"n": "b", "v": 2}],
        "m": {"a.b/c": "k"},
        "o": {"x": None},
        "f": [0.1234567, 1234567.5, -0.00001, 123456.5],
    },
}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        (".spec.l[0].n", ["a"]),
        (".spec.l[*].n", ["a", "b"]),
        ('.spec.l[?(@.n=="b")].v', [2]),
        (".spec.l[?(@.v>1)].n", ["b"]),
        (".spec.l[-1:].n", ["b"]),
        (".spec.m.a\\.b/c", ["k"]),
        (".spec.m['a.b/c']", ["k"]),
        (".spec.none.deeper", []),
        ("..v", [1, 2]),
        (".spec.l[0,1].n", ["a", "b"]),
        (".spec['o', \"m\"]", [{"x": None}, {"a.b/c": "k"}]),
    ],
)
def test_a_path_finds_its_values_in_order(path: str, found: list[Any]) -> None:
    assert list(JsonPath(path).find(OBJ)) == found


def test_what_is_no_path_is_said_to_be_none() -> None:
    with pytest.raises(PathError):
        JsonPath(".spec.l[")


@pytest.mark.parametrize("start", [".spec['", '.spec["', ".spec[?(@.a=='"])
def test_a_quotation_that_never_ends_holds_up_nobody(start: str) -> None:
    with pytest.raises(PathError):
        JsonPath(start + "\\" * 200)


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
    printer = ColumnPrinter([column(kind, path)])

    assert printer.cells(OBJ, 60) == ["a", cell]


def test_one_unreadable_column_leaves_only_the_name() -> None:
    printer = ColumnPrinter([column("string", ".spec.x"), column("string", ".spec[")])

    assert [definition["name"] for definition in printer.definitions()] == ["Name"]
    assert printer.cells(OBJ, 0) == ["a"]
