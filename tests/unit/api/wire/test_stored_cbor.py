"""Stored bytes in CBOR: smaller, and the very same bytes when they come back."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proreus.api.wire import json, splice, stored_cbor
from tests.cbor import json_of
from tests.unit.api.wire.test_cbor import JSON

OBJECTS = st.fixed_dictionaries(
    {"metadata": st.dictionaries(st.text(max_size=10), JSON, max_size=4)},
    optional={"spec": JSON, "status": JSON, "data": JSON},
)


@given(OBJECTS, st.sampled_from(["", "v1", "v2beta1"]))
@settings(max_examples=300)
def test_stored_bytes_come_back_byte_for_byte(obj: dict[str, Any], version: str) -> None:
    stored = splice.stored_from_object({**obj, "metadata": {"name": "a", **obj["metadata"]}})
    if version:
        stored = splice.with_version(stored, version)

    packed = stored_cbor.pack(stored)

    assert stored_cbor.unpack(packed) == stored
    assert json_of(packed) == json.decode(stored)


def test_a_packed_object_begins_with_kubernetes_tag_and_says_text_as_text() -> None:
    packed = stored_cbor.pack(b'{"metadata":{"name":"a"},"data":{"k":1}}')

    # The tag, a map of two, "metadata", its map, "data", its map.
    assert packed.hex(" ", 1).startswith("d9 d9 f7 a2 68 6d 65 74 61 64 61 74 61 a1 64 6e 61 6d 65")
    assert packed.endswith(b"\x64data\xa1\x61k\x01")


def test_what_is_nested_as_deep_as_json_may_be_is_packed_too() -> None:
    inner: dict[str, Any] = {}
    for _ in range(250):
        inner = {"a": inner}
    stored = json.encode({"metadata": {"name": "a"}, "spec": inner})

    assert stored_cbor.unpack(stored_cbor.pack(stored)) == stored


@pytest.mark.parametrize(
    "made_elsewhere",
    [b"", b"\xff", b"\xa1", b"\xa1\x41a\x01", b"\xc2\x49" + b"\xff" * 9, b"\x81" * 100_000],
    ids=["nothing", "no item", "cut off", "text as bytes", "a large number", "nested too deep"],
)
def test_what_was_not_packed_here_is_refused(made_elsewhere: bytes) -> None:
    with pytest.raises(ValueError):
        stored_cbor.unpack(stored_cbor.SELF_DESCRIBED + made_elsewhere)
