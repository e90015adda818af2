"""Watch frames: where the network cuts the bytes must not matter."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proreus.api.object import KubeObject, ObjectDecodeError
from proreus.api.wire.framing import (
    FrameTooLong,
    LineSplitter,
    WatchEvent,
    decode_event,
)


@given(
    lines=st.lists(st.binary(min_size=1).filter(lambda line: b"\n" not in line)),
    cuts=st.lists(st.integers(min_value=0, max_value=500)),
)
def test_lines_are_the_same_wherever_the_stream_is_cut(lines: list[bytes], cuts: list[int]) -> None:
    stream = b"".join(line + b"\n" for line in lines)
    edges = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    splitter = LineSplitter()

    found = [
        line
        for start, end in itertools.pairwise(edges)
        for line in splitter.feed(stream[start:end])
    ]

    assert found == lines
    assert splitter.finish() == b""


def encode_event(event: WatchEvent) -> bytes:
    return b'{"type":"%b","object":%b}\n' % (event.type.encode(), event.object.raw)


def test_a_two_megabyte_object_cut_inside_a_character_is_one_intact_event() -> None:
    text = "ä" * 1_000_000
    event = WatchEvent("ADDED", KubeObject.from_dict({"metadata": {"name": "a"}, "data": text}))
    stream = encode_event(event)
    splitter = LineSplitter()

    found = [
        line for at in range(0, len(stream), 997) for line in splitter.feed(stream[at : at + 997])
    ]

    assert [decode_event(line).object.data for line in found] == [text]


def test_the_rest_after_the_last_newline_is_handed_out_at_the_end() -> None:
    splitter = LineSplitter()

    assert splitter.feed(b"a\nb") == [b"a"]
    assert repr(splitter) == "<LineSplitter holding 1 bytes of an unfinished line>"
    assert splitter.finish() == b"b"
    assert splitter.finish() == b""


def test_a_line_without_end_stops_at_the_limit() -> None:
    splitter = LineSplitter(limit=10)
    splitter.feed(b"0123456789")

    with pytest.raises(FrameTooLong):
        splitter.feed(b"0")


@given(
    event_type=st.sampled_from(["ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"]),
    name=st.text(),
    spaced=st.booleans(),
)
def test_events_survive_the_wire(event_type: str, name: str, spaced: bool) -> None:
    event = WatchEvent(
        event_type,
        KubeObject.from_dict({"kind": "A", "apiVersion": "v1", "metadata": {"name": name}}),
    )
    line = encode_event(event).strip()
    if spaced:
        line = b'{ "object": %b , "type" : "%b" }' % (event.object.raw, event_type.encode())

    assert decode_event(line) == event


def test_an_event_says_what_it_is() -> None:
    event = decode_event(b'{"type":"ADDED","object":{"kind":"Pod","metadata":{"name":"a"}}}')

    assert repr(event) == "<ADDED <Pod a>>"


def test_extra_members_after_the_object_do_not_confuse() -> None:
    event = decode_event(b'{"type":"ADDED","object":{"metadata":{"name":"a"}},"x":{"y":{}}}')

    assert (event.type, event.object.name) == ("ADDED", "a")


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"{}",
        b"garbage",
        b'{"type":"ADDED"}',
        b'{"type":"ODD","object":{}}',
        b'{"type":"ADDED","object":{"metadata":{',
        b'{"type":"ADDED","object":{}',
    ],
)
def test_other_lines_are_refused(line: bytes) -> None:
    with pytest.raises(ObjectDecodeError):
        decode_event(line)
