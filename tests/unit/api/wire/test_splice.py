"""An object's bytes in their three forms."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from proreus.api.wire import json, splice

_json = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda children: st.lists(children) | st.dictionaries(st.text(), children),
    max_leaves=10,
)
_objects = st.fixed_dictionaries(
    {
        "metadata": st.dictionaries(st.text(), _json).map(
            lambda extra: {"name": "a", **extra, "resourceVersion": "3"}
        ),
        "kind": st.just("ConfigMap"),
        "apiVersion": st.just("v1"),
    },
    optional={"data": _json, "spec": _json},
)


@given(_objects, st.integers(1, 2**62))
def test_an_object_comes_back_whole_with_the_revision_it_was_given(
    obj: dict[str, Any], revision: int
) -> None:
    stored = splice.stored_from_object(obj)
    item = splice.item_from_stored(stored, revision)
    sent = splice.kind_head("ConfigMap", "v1") + item

    expected = {**obj, "metadata": {**obj["metadata"], "resourceVersion": str(revision)}}
    expected["metadata"].pop("selfLink", None)
    assert json.decode(sent) == expected
    assert splice.stored_from_item(item) == stored
    assert splice.decode_item(item) == splice.decode_item(splice.item_from_object(expected))


def test_what_storage_derives_is_not_stored() -> None:
    obj = {
        "kind": "ConfigMap",
        "apiVersion": "v1",
        "data": {"k": "v"},
        "metadata": {"resourceVersion": "3", "selfLink": "/x", "name": "a"},
    }

    assert splice.stored_from_object(obj) == b'{"metadata":{"name":"a"},"data":{"k":"v"}}'
