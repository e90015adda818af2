"""Paths into objects: what they find, and what ends them."""

from __future__ import annotations

from typing import Any

import pytest

from proreus.api.jsonpath import JsonPath, PathError

OBJ: dict[str, Any] = {
    "spec": {
        "l": [{"n": "a", "v": 1}, {"n": "b", "v": 2}],
        "m": {"a.b/c": "k"},
        "o": {"x": None},
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
        (".spec['o', 'm']", [{"x": None}, {"a.b/c": "k"}]),
        (".spec.l[*].none[0]", []),
        (".spec.l[2:]", []),
        (".spec.l[0:2:2].n", ["a"]),
    ],
)
def test_a_path_finds_its_values_in_order(path: str, found: list[Any]) -> None:
    assert list(JsonPath(path).find(OBJ)) == found


@pytest.mark.parametrize(
    "path",
    [
        ".spec[*]",
        ".spec[0]",
        ".spec[0:1]",
        ".spec[?(@.n=='a')]",
        ".spec.l[5]",
        ".spec.l[0,5]",
        ".spec.l[0:5]",
        ".spec.l[1:0]",
        ".spec.l[::-1]",
        ".spec.l[*].n[0]",
        ".spec.l[?(@.v>1.5)].n",
        ".spec.l[?(@.n==1)].n",
    ],
)
def test_a_step_that_cannot_be_taken_spoils_the_search(path: str) -> None:
    assert list(JsonPath(path).find(OBJ)) == []


@pytest.mark.parametrize("path", [".spec.l[", '.spec["l"]', ".spec['o', \"m\"]"])
def test_what_is_no_path_is_said_to_be_none(path: str) -> None:
    with pytest.raises(PathError):
        JsonPath(path)


@pytest.mark.parametrize("start", [".spec['", '.spec["', ".spec[?(@.a=='"])
def test_a_quotation_that_never_ends_holds_up_nobody(start: str) -> None:
    with pytest.raises(PathError):
        JsonPath(start + "\\" * 200)


def test_a_path_that_descends_again_and_again_is_given_up() -> None:
    value: dict[str, Any] = {"a": 1}
    for _ in range(200):
        value = {"b": value}

    assert JsonPath("..a").first(value) == 1
    assert JsonPath("..b" * 30 + "..c").first(value) is None


@pytest.mark.parametrize("path", [".a" * 300, "." + "a" * 20_000])
def test_a_path_without_end_is_refused(path: str) -> None:
    with pytest.raises(PathError):
        JsonPath(path)
