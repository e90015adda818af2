"""Bodies in gzip: unpacked as they arrive, in pieces that are bounded, and refused if damaged."""

from __future__ import annotations

import gzip
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proreus.net.client.response_body import PIECE_BYTES_MAX, BadGzip, Unpacking


def unpacked(pieces: list[bytes]) -> bytes:
    """Raises BadGzip."""
    unpacking, found = Unpacking(), b""
    for packed in pieces:
        unpacking.feed(packed)
        while piece := unpacking.next_piece():
            assert len(piece) <= PIECE_BYTES_MAX
            found += piece
    unpacking.end()
    return found


@given(
    members=st.lists(st.binary(max_size=200), min_size=1, max_size=3),
    step=st.integers(1, 60),
)
def test_a_body_of_several_members_is_unpacked_however_it_is_cut(
    members: list[bytes], step: int
) -> None:
    packed = b"".join(map(gzip.compress, members))

    found = unpacked([packed[at : at + step] for at in range(0, len(packed), step)])

    assert found == b"".join(members)


def test_what_was_flushed_is_here_before_the_body_ends() -> None:
    packing, unpacking = zlib.compressobj(wbits=31), Unpacking()

    unpacking.feed(packing.compress(b"event") + packing.flush(zlib.Z_SYNC_FLUSH))

    assert unpacking.next_piece() == b"event"
    assert unpacking.next_piece() == b""


def test_a_small_body_that_becomes_a_large_one_comes_in_pieces() -> None:
    large = bytes(5 * PIECE_BYTES_MAX + 7)

    assert unpacked([gzip.compress(large)]) == large


def test_an_empty_body_is_one() -> None:
    assert unpacked([]) == b""


@pytest.mark.parametrize(
    "pieces",
    [
        [b"this is no gzip"],
        [gzip.compress(b"text")[:-9]],
        [gzip.compress(b"text")[:-1]],
        [gzip.compress(b"text"), b"and more"],
    ],
)
def test_a_body_that_is_cut_or_none_is_refused(pieces: list[bytes]) -> None:
    with pytest.raises(BadGzip):
        unpacked(pieces)
