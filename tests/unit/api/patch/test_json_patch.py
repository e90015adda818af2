from __future__ import annotations

import copy
import json
from typing import Any

import jsonpatch
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proreus.api.patch.errors import MalformedPatch, PatchError, RejectedPatch, TooManyOperations
from proreus.api.patch.json_patch import (
    FailedTest,
    apply_json_patch,
    check_operations,
    unknown_members,
)
from proreus.api.patch.value_text import value_texts

KEYS = st.sampled_from(["a", "b", "c/d", "e~f", "0"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(0, 3) | st.sampled_from(["x", "y"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=10,
)
DOCUMENT = st.dictionaries(KEYS, JSON, min_size=1, max_size=3)


@given(DOCUMENT, DOCUMENT)
def test_patches_made_by_another_library_give_its_result(old: Any, new: Any) -> None:
    operations = jsonpatch.make_patch(old, new).patch
    before = copy.deepcopy(old)

    assert apply_json_patch(old, operations) == new
    assert old == before


@given(DOCUMENT, st.data())
def test_valid_operations_agree_with_another_library(document: Any, data: st.DataObject) -> None:
    steps = st.sampled_from(["a", "b", "c~1d", "e~0f", "0", "1", "-"])
    path = st.lists(steps, min_size=1, max_size=3).map(lambda s: "/" + "/".join(s))
    operation = st.fixed_dictionaries(
        {"op": st.sampled_from(["add", "remove", "move", "copy"]), "path": path, "from": path},
        optional={},
    ).map(lambda o: o | {"value": {"new": [1]}})
    operations = data.draw(st.lists(operation, max_size=4))
    try:
        expected = jsonpatch.apply_patch(document, operations)
    except (jsonpatch.JsonPatchException, jsonpatch.JsonPointerException, TypeError):
        return

    assert apply_json_patch(document, operations) == expected


@pytest.mark.parametrize(
    ("operation", "result"),
    [
        ({"op": "replace", "path": "/q", "value": 1}, {"x": [1, 2], "q": 1}),
        ({"op": "add", "path": "/q"}, {"x": [1, 2], "q": None}),
        ({"op": "copy", "path": "/q", "from": "/none"}, {"x": [1, 2], "q": None}),
        ({"op": "test", "path": "/none", "value": None}, {"x": [1, 2]}),
        ({"op": "test", "path": "/none"}, {"x": [1, 2]}),
        ({"op": "test", "path": "", "value": {"x": [1, 2]}}, {"x": [1, 2]}),
        ({"op": "add", "path": "/x/-1", "value": 3}, {"x": [1, 2, 3]}),
        ({"op": "remove", "path": "/x/-1"}, {"x": [1]}),
        ({"op": "replace", "path": "/x/-2", "value": 0}, {"x": [0, 2]}),
        ({"op": "add", "path": "word/q", "value": 1}, {"x": [1, 2], "q": 1}),
        ({"op": "replace", "path": "", "value": {"n": 1}}, {"n": 1}),
    ],
)
def test_kubernetes_departs_from_the_standard(operation: dict[str, Any], result: Any) -> None:
    assert apply_json_patch({"x": [1, 2]}, [operation]) == result


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "add", "path": "/none/k", "value": 1},
        {"op": "add", "path": "word", "value": 1},
        {"op": "add", "path": "", "value": {}},
        {"op": "add", "path": "/x/9", "value": 1},
        {"op": "add", "path": "/x/one", "value": 1},
        {"op": "add", "path": "/x/99999999999999999999", "value": 1},
        {"op": "add", "path": "/s/k", "value": 1},
        {"op": "add", "path": "/s/k/k", "value": 1},
        {"op": "replace", "path": "", "value": 5},
        {"op": "replace", "path": "/x/3", "value": 5},
        {"op": "remove", "path": ""},
        {"op": "remove", "path": "/none"},
        {"op": "move", "path": "/q", "from": "/none"},
        {"op": "test", "path": "/x/0", "value": 1.0},
        {"op": "test", "path": "/x/0", "value": True},
        {"op": "test", "path": "/s", "value": None},
        {"op": "merge", "path": "/x"},
        {"op": "ADD", "path": "/x", "value": 1},
        {},
        {"op": "replace", "value": {}},
        {"op": "replace", "path": None, "value": {}},
    ],
)
def test_an_operation_that_fails_rejects_the_patch(operation: dict[str, Any]) -> None:
    document = {"x": [1, 2], "s": "text"}
    operations = [{"op": "add", "path": "/x/-", "value": 3}, operation]

    with pytest.raises(RejectedPatch) as caught:
        apply_json_patch(document, operations)

    assert document == {"x": [1, 2], "s": "text"}
    assert caught.value.to_status().status == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": "the server rejected our request due to an error in our request",
        "reason": "Invalid",
        "details": {},
        "code": 422,
    }


def test_a_copied_value_is_a_value_of_its_own() -> None:
    patched = apply_json_patch(
        {"a": {"k": 1}},
        [
            {"op": "add", "path": "/a/l", "value": 2},
            {"op": "copy", "path": "/b", "from": "/a"},
            {"op": "add", "path": "/a/m", "value": 3},
        ],
    )

    assert patched == {"a": {"k": 1, "l": 2, "m": 3}, "b": {"k": 1, "l": 2}}


def test_copies_of_copies_are_bounded() -> None:
    operations = [{"op": "copy", "path": f"/a/{i}", "from": "/a"} for i in range(60)]

    with pytest.raises(RejectedPatch, match="allowed size"):
        apply_json_patch({"a": {"k": "v" * 1000}}, operations)


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({}, "json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp"),
        ("text", "json: cannot unmarshal string into Go value of type []handlers.jsonPatchOp"),
        (["add"], "json: cannot unmarshal string into Go value of type handlers.jsonPatchOp"),
        ([{"path": 5}],
         "json: cannot unmarshal number into Go struct field jsonPatchOp.path of type string"),
        ([{"op": True}],
         "json: cannot unmarshal bool into Go struct field jsonPatchOp.op of type string"),
    ],
)  # fmt: skip
def test_a_document_that_is_no_patch_is_refused(document: Any, message: str) -> None:
    with pytest.raises(MalformedPatch) as caught:
        check_operations(document)

    assert caught.value.to_status().message == f"error decoding patch: {message}"
    assert caught.value.to_status().code == 400


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({}, "json: cannot unmarshal object into Go value of type jsonpatch.Patch"),
        (["add"], "json: cannot unmarshal string into Go value of type jsonpatch.Operation"),
    ],
)
def test_without_field_validation_only_the_library_reads_a_patch(
    document: Any, message: str
) -> None:
    with pytest.raises(MalformedPatch) as caught:
        check_operations(document, is_validated=False)

    assert str(caught.value) == message
    for odd in ({"op": 5, "path": "/a"}, {"op": "add", "path": 5}, {"op": "move", "from": 5}):
        with pytest.raises(RejectedPatch):
            apply_json_patch({}, check_operations([odd], is_validated=False))


LIVE = {"html": "a<b>&c", "nested": {"l": ["<", 1, 2.0, None, True]}, "plain": 'ü"\t'}


@pytest.mark.parametrize(
    ("path", "text", "passes"),
    [
        ("/html", r'"a\u003cb\u003e\u0026c"', True),
        ("/html", '"a<b>&c"', False),
        ("/html", r'"a\u003Cb\u003E\u0026c"', False),
        ("/plain", r'"ü\"\t"', True),
        ("/plain", r'"\u00fc\"\t"', False),
        ("/nested", r'{ "l": ["\u003c", 1, 2, null, true] }', True),
        ("/nested", '{"l": ["<", 1, 2, null, true]}', False),
        ("/nested", r'{"l": ["\u003c", 1.0, 2, null, true]}', False),
        ("/nested", "[]", False),
        ("/nested/l", "{}", False),
        ("/nested/l", "[]", False),
        ("/nested/l/3", "null", True),
        ("/none", "null", True),
        ("/none", '""', False),
    ],
)
def test_a_test_compares_scalars_in_the_words_of_the_server(
    path: str, text: str, passes: bool
) -> None:
    body = f'[{{"op": "test", "path": "{path}", "value": {text}}}]'.encode()
    operations, texts = check_operations(json.loads(body)), value_texts(body)

    if passes:
        assert apply_json_patch(LIVE, operations, texts) == LIVE
    else:
        with pytest.raises(FailedTest):
            apply_json_patch(LIVE, operations, texts)


@pytest.mark.parametrize("path", ["/x", "/y", "/y/z"])
def test_what_the_patch_itself_wrote_is_tested_in_its_own_words(path: str) -> None:
    value = {"/x": "<", "/y": {"z": "<"}, "/y/z": "<"}[path]
    written = [
        {"op": "add", "path": "/x", "value": "<"},
        {"op": "add", "path": "/y", "value": {}},
        {"op": "add", "path": "/y/z", "value": "<"},
    ]
    body = json.dumps([*written, {"op": "test", "path": path, "value": value}]).encode()

    assert apply_json_patch({}, json.loads(body), value_texts(body)) == {"x": "<", "y": {"z": "<"}}


def test_more_than_ten_thousand_operations_are_too_many() -> None:
    operations = [{"op": "test", "path": "/a", "value": 1}] * 10_001

    assert check_operations(operations[1:])
    with pytest.raises(TooManyOperations) as caught:
        check_operations(operations)

    status = caught.value.to_status()
    assert (status.code, status.message) == (
        413,
        "Request entity too large: The allowed maximum operations in a JSON patch is 10000, "
        "got 10001",
    )


def test_null_is_an_empty_patch_and_unknown_members_are_named() -> None:
    assert check_operations(None) == []
    assert check_operations([None]) == [{}]
    assert unknown_members([{"op": "add"}, {"extra": 1, "from": "/a"}]) == ["[1].extra"]


@given(JSON, st.lists(st.dictionaries(st.sampled_from(["op", "path", "from", "value"]), JSON)))
def test_any_input_is_applied_or_refused(document: Any, operations: Any) -> None:
    try:
        apply_json_patch(document, check_operations(operations))
    except PatchError as refused:
        assert refused.to_status().code in (400, 422)
