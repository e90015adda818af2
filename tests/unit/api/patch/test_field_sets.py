from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proreus.api.patch import field_sets
from proreus.api.patch.field_sets import (
    SELF,
    FieldSetError,
    Tree,
    difference,
    includes,
    intersection,
    meets,
    outside,
    parse,
    union,
)

ELEMENT = st.sampled_from(["f:a", "f:b", 'k:{"name":"x"}', 'k:{"name":"y"}', 'v:"s"', "v:1", "i:0"])
Path = tuple[str, ...]
PATHS = st.frozensets(st.lists(ELEMENT, min_size=1, max_size=3).map(tuple), max_size=6)


def tree_of(paths: frozenset[Path]) -> Tree:
    """The slow, obvious way: a trie with a mark at every member."""
    trie: dict[str, Any] = {}
    for path in paths:
        node = trie
        for element in path:
            node = node.setdefault(element, {})
        node[SELF] = {}

    def shrunk(node: dict[str, Any]) -> Tree:
        if node.keys() == {SELF}:
            return {}
        return {e: {} if e == SELF else shrunk(below) for e, below in node.items()}

    return shrunk(trie)


def paths_of(tree: Tree, prefix: Path = ()) -> frozenset[Path]:
    found: frozenset[Path] = frozenset()
    for element, below in tree.items():
        if element == SELF:
            continue
        here = (*prefix, element)
        found |= paths_of(below, here) | ({here} if field_sets.has_self(below) else frozenset())
    return found


@given(PATHS)
def test_reading_what_was_written_gives_the_same_set(paths: frozenset[Path]) -> None:
    tree = tree_of(paths)

    assert parse(tree) == tree
    assert paths_of(tree) == paths
    assert len(list(field_sets.paths(tree))) == len(paths)


@given(PATHS, PATHS)
def test_trees_behave_as_sets_of_paths(left: frozenset[Path], right: frozenset[Path]) -> None:
    one, two = tree_of(left), tree_of(right)

    assert union(one, two) == tree_of(left | right)
    assert difference(one, two) == tree_of(left - right)
    assert intersection(one, two) == tree_of(left & right)
    assert meets(one, two) == bool(left & right)


@given(PATHS, PATHS)
def test_a_part_is_included_if_its_paths_are_there_and_end_there(
    left: frozenset[Path], right: frozenset[Path]
) -> None:
    def goes_on(path: Path, paths: frozenset[Path]) -> bool:
        return any(other[: len(path)] == path and other != path for other in paths)

    everything = left | right
    for part in (right, left & right):
        ends_there = all(goes_on(p, part) or not goes_on(p, everything) for p in part)
        assert includes(tree_of(everything), tree_of(part)) == ends_there
        assert not includes(tree_of(left), tree_of(part)) or part <= left


@given(PATHS, PATHS)
def test_outside_drops_everything_at_or_below(
    left: frozenset[Path], right: frozenset[Path]
) -> None:
    kept = {p for p in left if not any(p[: len(q)] == q for q in right)}

    assert outside(tree_of(left), tree_of(right)) == tree_of(frozenset(kept))


def test_foreign_spelling_is_made_ours() -> None:
    foreign: Tree = {"f:ports": {'k:{"protocol": "TCP", "port": 80}': {".": {}}, "v: 1": {}}}

    assert parse(foreign) == {"f:ports": {'k:{"port":80,"protocol":"TCP"}': {".": {}}, "v:1": {}}}


@pytest.mark.parametrize(
    "fields", [5, {"x": {}}, {"x:y": {}}, {"k:5": {}}, {"k:{": {}}, {"v:nope": {}}, {"f:a": 1}]
)
def test_what_is_no_set_is_refused(fields: Any) -> None:
    with pytest.raises(FieldSetError):
        parse(fields)


def test_elements_are_ordered_fields_first_and_numbers_by_size() -> None:
    tree: Tree = {
        'k:{"port":443}': {},
        "f:b": {},
        'k:{"port":80}': {},
        'k:{"port":null}': {},
        'k:{"port":"x"}': {},
        "v:true": {},
        ".": {},
        "f:a": {},
    }

    assert list(parse(tree)) == [
        ".",
        "f:a",
        "f:b",
        'k:{"port":80}',
        'k:{"port":443}',
        'k:{"port":"x"}',
        'k:{"port":null}',
        "v:true",
    ]


def test_paths_are_printed_as_messages_show_them() -> None:
    tree: Tree = {
        "f:spec": {
            "f:ports": {'k:{"port":80,"protocol":"TCP"}': {".": {}, "f:name": {}}},
            "f:replicas": {},
        },
        "f:metadata": {"f:finalizers": {'v:"x"': {}, "i:3": {}}},
    }

    assert list(field_sets.paths(parse(tree))) == [
        '.metadata.finalizers[="x"]',
        ".metadata.finalizers[3]",
        ".spec.replicas",
        '.spec.ports[port=80,protocol="TCP"]',
        '.spec.ports[port=80,protocol="TCP"].name',
    ]
