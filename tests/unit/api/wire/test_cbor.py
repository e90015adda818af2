"""CBOR: what JSON says, in Kubernetes' form."""

from __future__ import annotations

from typing import Any

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
