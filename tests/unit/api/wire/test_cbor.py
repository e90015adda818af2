"""CBOR: what JSON says, in Kubernetes' form; what is not JSON is refused."""

from __future__ import annotations

import math
from typing import Any

import cbor2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proreus.api.wire import cbor
from proreus.api.wire.amplification import CONTAINERS_MAX, TooManyContainers

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
    assert cbor.decode(cbor.encode(value)) == value


@given(st.binary(max_size=60) | JSON.map(cbor2.dumps))
@settings(max_examples=300)
def test_any_bytes_are_json_or_refused(data: bytes) -> None:
    try:
        found = cbor.decode(data)
    except cbor.CborError:
        return

    assert cbor.decode(cbor.encode(found)) == found


def test_a_document_is_the_bytes_that_kubernetes_writes() -> None:
    encoded = cbor.encode({"kind": "Pod", "a": [1, True, None, 1.5]})

    # The tag, a map of two, both keys and the text as byte strings, the shorter key first.
    assert encoded.hex() == "d9d9f7a241618401f5f6f93e00446b696e6443506f64"


READ = {
    "text strings": (cbor2.dumps({"a": "b"}), {"a": "b"}),
    "byte strings": (cbor2.dumps({b"a": b"b"}), {"a": "b"}),
    "bytes to be shown in base64": (cbor2.dumps(cbor2.CBORTag(22, b"hello")), "aGVsbG8="),
    "bytes to be shown in base64url": (cbor2.dumps(cbor2.CBORTag(21, b"\xff\xfe")), "__4="),
    "bytes to be shown in base16": (cbor2.dumps(cbor2.CBORTag(23, b"\xab")), "AB"),
    "a marked time": (b"\xc0\x74" + b"2026-11-17T00:00:00Z", "2026-11-17T00:00:00Z"),
    "an unknown tag": (cbor2.dumps(cbor2.CBORTag(4711, [1])), [1]),
    "no tag": (b"\x01", 1),
    "references, which are none to us": (b"\xd8\x1c\x81\xd8\x1d\x00", [0]),
    "a list without a length": (b"\x9f\x01\x02\xff", [1, 2]),
}


@pytest.mark.parametrize("what", READ)
def test_what_other_writers_send_is_read(what: str) -> None:
    data, value = READ[what]

    assert cbor.decode(data) == value


REFUSED = {
    "nothing": b"",
    "half of it": b"\x82\x01",
    "a key twice": b"\xa2\x41a\x01\x41a\x02",
    "a key as text and as bytes": b"\xa2\x41a\x01\x61a\x02",
    "a key that is a number": b"\xa1\x01\x02",
    "a key that is a list": b"\xa1\x80\x02",
    "text that is no UTF-8": b"\x61\xff",
    "bytes that are no UTF-8": b"\x41\xff",
    "an integer of 64 bits without sign": b"\x1b" + b"\xff" * 8,
    "a large number": cbor2.dumps(2**70),
    "not a number": cbor2.dumps(math.nan),
    "infinity": cbor2.dumps(math.inf),
    "undefined": b"\xf7",
    "a simple value": b"\xf8\x20",
    "two documents": b"\x01\x02",
    "a document and half of one": b"\x01\x82",
    "a document and the start of a text": b"\x01\x44",
    "a pattern": cbor2.dumps(cbor2.CBORTag(35, [1, {1: 2}])),
    "too deep": b"\x81" * 100 + b"\x01",
    "far too deep": b"\x81" * 50_000 + b"\x01",
    "a list longer than its bytes": b"\x9b" + b"\x7f" * 8,
    "text longer than its bytes": b"\x7b" + b"\x7f" * 8,
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_json_cannot_say_is_refused(what: str) -> None:
    with pytest.raises(cbor.CborError):
        cbor.decode(REFUSED[what])


def test_more_lists_than_are_decoded_are_refused_before_they_are_made() -> None:
    many = b"\x9a" + (3_000_000).to_bytes(4, "big") + b"\x80" * 3_000_000

    with pytest.raises(TooManyContainers):
        cbor.decode(many)


def test_a_long_text_of_bytes_that_look_like_lists_is_one_text() -> None:
    text = "\x00" * (CONTAINERS_MAX + 10)

    assert cbor.decode(cbor.encode({"a": text})) == {"a": text}
