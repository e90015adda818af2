"""SPDY frames: what was written is read, in whatever pieces it arrives; nonsense is refused."""

from __future__ import annotations

import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proreus.api.wire.spdy import (
    DATA_PIECE_BYTES,
    Data,
    Frame,
    FrameReader,
    FrameWriter,
    GoAway,
    MoreHeaders,
    Ping,
    Reset,
    SpdyError,
    SynReply,
    SynStream,
)
from proreus.api.wire.spdy_dictionary import DICTIONARY

streams = st.integers(1, 2**31 - 1)
words = st.integers(0, 2**32 - 1)
names = st.text("abcdefghijklmnopqrstuvwxyz-:", min_size=1, max_size=12)
headers = st.dictionaries(names, st.text(max_size=30), max_size=5)
frames: st.SearchStrategy[Frame] = st.one_of(
    st.builds(SynStream, streams, headers, st.booleans()),
    st.builds(SynReply, streams, headers, st.booleans()),
    st.builds(MoreHeaders, streams, headers, st.booleans()),
    st.builds(Data, streams, st.binary(max_size=300), st.booleans()),
    st.builds(Reset, streams, words),
    st.builds(Ping, words),
    st.builds(GoAway, streams, words),
)


@given(st.lists(frames, max_size=12), st.integers(1, 64))
def test_frames_come_out_as_they_went_in_whatever_the_pieces(sent: list[Frame], piece: int) -> None:
    writer, reader = FrameWriter(), FrameReader()
    wire = b"".join(writer.encode(frame) for frame in sent)

    received = [
        frame
        for start in range(0, len(wire), piece)
        for frame in reader.feed(wire[start : start + piece])
    ]

    assert received == sent


@given(st.binary(max_size=400))
def test_any_bytes_are_frames_or_an_error(noise: bytes) -> None:
    reader = FrameReader()
    try:
        received = reader.feed(noise)
    except SpdyError:
        return
    assert sum(len(frame.payload) for frame in received if isinstance(frame, Data)) <= len(noise)


def test_the_dictionary_is_the_one_of_the_specification() -> None:
    """Its checksum is in the first bytes of every SPDY/3 connection."""
    assert len(DICTIONARY) == 1423
    assert zlib.adler32(DICTIONARY) == 0xE3C6A7C2
    assert FrameWriter().encode(SynReply(1, {}))[12:18].hex() == "78bbe3c6a7c2"


@pytest.mark.parametrize(
    ("what", "wire"),
    [
        ("another version", b"\x80\x02\x00\x06\x00\x00\x00\x04\x00\x00\x00\x01"),
        ("a short ping", b"\x80\x03\x00\x06\x00\x00\x00\x02\x00\x01"),
        ("a large control frame", b"\x80\x03\x00\x01\x00\xff\xff\xff"),
        (
            "headers that are not compressed",
            b"\x80\x03\x00\x02\x00\x00\x00\x08\x00\x00\x00\x01abcd",
        ),
        ("no stream", b"\x80\x03\x00\x01\x00\x00\x00\x04\x00\x00\x00\x01"),
    ],
)
def test_what_breaks_the_protocol_is_refused(what: str, wire: bytes) -> None:
    with pytest.raises(SpdyError):
        FrameReader().feed(wire)


def test_a_bomb_of_headers_is_refused() -> None:
    bomb = FrameWriter().encode(SynStream(1, {"a": "x" * 1_000_000}))

    assert len(bomb) < 10_000
    with pytest.raises(SpdyError, match="without end"):
        FrameReader().feed(bomb)


def test_settings_and_windows_are_passed_over() -> None:
    settings = b"\x80\x03\x00\x04\x00\x00\x00\x04\x00\x00\x00\x00"
    window = b"\x80\x03\x00\x09\x00\x00\x00\x08\x00\x00\x00\x01\x00\x01\x00\x00"

    assert FrameReader().feed(settings + window + FrameWriter().encode(Ping(7))) == [Ping(7)]


def test_long_data_is_handed_on_before_its_frame_is_complete() -> None:
    content = bytes(number % 251 for number in range(2 * DATA_PIECE_BYTES + 5))
    writer, reader = FrameWriter(), FrameReader()
    wire = writer.encode(Data(3, content, is_last=True)) + writer.encode(Ping(1))

    early = reader.feed(wire[: 8 + DATA_PIECE_BYTES + 20])
    late = reader.feed(wire[8 + DATA_PIECE_BYTES + 20 :])

    second, last, ping = late
    assert early == [Data(3, content[:DATA_PIECE_BYTES])]
    assert second == Data(3, content[DATA_PIECE_BYTES : 2 * DATA_PIECE_BYTES])
    assert (last, ping) == (Data(3, content[-5:], is_last=True), Ping(1))
