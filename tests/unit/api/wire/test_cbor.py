"""CBOR: what JSON says, in Kubernetes' form."""

from __future__ import annotations

from typing import Any

import cbor2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proreus.api.wire import cbor
from tests.cbor import json_of

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=10), inner, max_size=5)
    ),
    max_leaves=30,
)


@given(JSON)
@settings(max_examples=200)
def test_what_is_encoded_is_decoded_again(value: Any) -> None:
    assert json_of(cbor.encode(value)) == value


def test_a_document_is_the_bytes_that_kubernetes_writes() -> None:
    encoded = cbor.encode({"kind": "Pod", "a": [1, True, None, 1.5]})

    # The tag, a map of two, both keys and the text as byte strings, the shorter key first.
    assert encoded.hex() == "d9d9f7a241618401f5f6f93e00446b696e6443506f64"


@given(JSON)
@settings(max_examples=200)
def test_what_is_encoded_is_in_the_form_of_every_canonical_encoder(value: Any) -> None:
    assert cbor.encode_item(value) == cbor2.dumps(with_byte_strings(value), canonical=True)


def with_byte_strings(value: Any) -> Any:
    match value:
        case str():
            return value.encode()
        case dict():
            return {key.encode(): with_byte_strings(of) for key, of in value.items()}
        case list():
            return [with_byte_strings(item) for item in value]
        case _:
            return value


@pytest.mark.parametrize("count", [0, 1, 22, 23, 24, 254, 255, 300, 65_535, 70_000])
def test_fields_can_be_put_before_those_of_a_map_of_any_size(count: int) -> None:
    fields = {f"k{number}": number for number in range(count)}
    kind = cbor.encode_item("kind") + cbor.encode_item("Pod")

    whole = cbor.with_first(kind, 1, cbor.encode_item(fields))

    assert json_of(whole) == {"kind": "Pod", **fields}


@pytest.mark.parametrize("size", [23, 24, 255, 256, 65_535, 65_536])
def test_text_and_lists_of_any_length_are_encoded(size: int) -> None:
    value = {"text": "x" * size, "list": [0] * size, "é" * size: None}

    assert json_of(cbor.encode(value)) == value
