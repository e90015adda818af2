"""Header blocks: whatever is sent, our decoder and ``hpack``'s find the same fields."""

from __future__ import annotations

import pytest
from hpack import Decoder, Encoder, HPACKError
from hypothesis import example, given, settings
from hypothesis import strategies as st

from proreus.net.http2.hpack_decoder import BadBlock, HpackDecoder

LIST_BYTES_MAX = 4096
NAMES = st.sampled_from([b":path", b":method", b"accept", b"x-own", b"authorization"]) | st.binary(
    min_size=1, max_size=12
)
FIELDS = st.lists(st.tuples(NAMES, st.binary(max_size=60), st.booleans()), max_size=12)


def decoded(decoder: HpackDecoder, block: bytes) -> list[tuple[bytes, bytes]] | None:
    try:
        fields = decoder.decode(block)
    except BadBlock:
        return None
    return [
        (one.name.encode("utf-8", "surrogateescape"), one.value.encode("utf-8", "surrogateescape"))
        for one in fields
    ]


def by_library(decoder: Decoder, block: bytes) -> list[tuple[bytes, bytes]] | None:
    try:
        return [(bytes(one[0]), bytes(one[1])) for one in decoder.decode(block, raw=True)]
    except (HPACKError, IndexError, ValueError):
        return None


@given(st.lists(FIELDS, max_size=8), st.booleans(), st.sampled_from([4096, 100, 0]))
def test_what_a_client_encodes_is_decoded(
    blocks: list[list[tuple[bytes, bytes, bool]]], huffman: bool, table_bytes: int
) -> None:
    encoder, decoder = Encoder(), HpackDecoder(1 << 20)
    for number, fields in enumerate(blocks):
        if number == len(blocks) // 2:
            encoder.header_table_size = table_bytes

        block = encoder.encode(fields, huffman=huffman)

        assert decoded(decoder, block) == [(name, value) for name, value, _ in fields]


@given(st.lists(FIELDS, max_size=3), st.binary(max_size=60), st.booleans())
@example([], b"\x3f\xe1\x1f\x82", False)  # a table of the largest size
@example([], b"\x3f\xe2\x1f\x82", False)  # one byte more
@example([], b"\x82\x20", False)  # a size behind a field
@example([], b"\x40", False)  # a name that is missing
@example([], b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f", False)  # a number without end
@settings(max_examples=200)
def test_two_decoders_agree_on_any_bytes(
    before: list[list[tuple[bytes, bytes, bool]]], noise: bytes, huffman: bool
) -> None:
    encoder, ours, theirs = Encoder(), HpackDecoder(LIST_BYTES_MAX), Decoder(LIST_BYTES_MAX)
    for fields in before:
        block = encoder.encode(fields, huffman=huffman)
        assert decoded(ours, block) == by_library(theirs, block)

    assert decoded(ours, noise) == by_library(theirs, noise)


def test_fields_that_are_large_together_are_refused_however_small_their_block_is() -> None:
    decoder = HpackDecoder(LIST_BYTES_MAX)
    decoder.decode(b"\x40\x01x\x7f\xd1\x06" + b"y" * 976)  # 127 + 849 bytes, into the table

    with pytest.raises(BadBlock, match="too long"):
        decoder.decode(b"\xbe" * 5)
