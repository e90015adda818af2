from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proreus.api.patch.errors import MalformedPatch
from proreus.api.patch.merge_patch import apply_merge_patch, check_merge_patch

KEYS = st.sampled_from(["a", "b", "c"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(0, 3) | st.sampled_from(["x", "y"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=10,
)
OBJECT = st.dictionaries(KEYS, JSON, max_size=3)


@given(OBJECT, OBJECT)
def test_applying_twice_is_applying_once_and_changes_no_argument(old: Any, patch: Any) -> None:
    before = copy.deepcopy((old, patch))

    once = apply_merge_patch(old, patch)

    assert apply_merge_patch(once, patch) == once
    assert (old, patch) == before


@given(OBJECT, OBJECT)
def test_merging_is_per_key(old: Any, patch: Any) -> None:
    whole = apply_merge_patch(old, patch)

    by_key = old
    for key, value in patch.items():
        by_key = apply_merge_patch(by_key, {key: value})
    assert whole == by_key


@pytest.mark.parametrize(
    ("patch", "result"),
    [
        ({"x": None}, {"l": [1]}),
        ({"none": None}, {"x": {"y": 1}, "l": [1]}),
        ({"x": {"y": None, "z": {"q": None, "r": 1}}}, {"x": {"z": {"r": 1}}, "l": [1]}),
        ({"l": [None, {"k": None}]}, {"x": {"y": 1}, "l": [None, {}]}),
        ({"n": [[{"k": None, "m": [None]}]]}, {"x": {"y": 1}, "l": [1], "n": [[{"m": [None]}]]}),
        ({"l": {"k": 1}}, {"x": {"y": 1}, "l": {"k": 1}}),
        ([], []),
    ],
)
def test_results(patch: Any, result: Any) -> None:
    assert apply_merge_patch({"x": {"y": 1}, "l": [1]}, patch) == result


def test_null_and_documents_that_are_no_object_are_refused() -> None:
    for document in (None, "text", 5, True):
        with pytest.raises(MalformedPatch, match=r"^Invalid JSON Patch$"):
            apply_merge_patch({}, document)
    with pytest.raises(MalformedPatch) as caught:
        check_merge_patch([])
    check_merge_patch({})
    check_merge_patch(None)

    assert str(caught.value) == (
        "error decoding patch: json: cannot unmarshal array into Go value of type "
        "map[string]interface {}"
    )


def test_a_patch_too_deep_to_walk_is_refused() -> None:
    patch: dict[str, Any] = {}
    for _ in range(5000):
        patch = {"a": patch}

    with pytest.raises(MalformedPatch, match="exceeded max depth"):
        apply_merge_patch({}, patch)
