"""The protocol of HTTP/2 without sockets: what is a request, what is refused, what ends it all."""

from __future__ import annotations

import pytest
from hpack import Encoder
from hypothesis import given, settings
from hypothesis import strategies as st

from proreus.net.http2 import frames
from proreus.net.http2.events import (
    BODY_BYTES,
    BodyReceived,
    Event,
    RequestBegun,
    StreamFlow,
    StreamReset,
    WindowGrown,
)
from proreus.net.http2.frames import ErrorCode, ProtocolBroken
from proreus.net.http2.session import ServerSession

Pairs = list[tuple[str, str]]
GET: Pairs = [
    (":method", "GET"),
    (":scheme", "https"),
    (":path", "/api?x=1"),
    (":authority", "localhost"),
    ("accept", "application/json"),
]
POST = [(":method", "POST"), *GET[1:]]


class Client:
    """Makes frames; its header table is the session's."""

    def __init__(self, streams_max: int = 100) -> None:
        self.now_s = 0.0
        self.session = ServerSession(streams_max, lambda: self.now_s)
        self._encoder = Encoder()
        self.says(frames.PREFACE + frames.settings())
        self.session.replies.clear()

    def says(self, data: bytes) -> list[Event]:
        return self.session.receive(data)

    def block(self, pairs: Pairs) -> bytes:
        return self._encoder.encode(pairs)

    def asks(self, number: int, pairs: Pairs = GET, *, ends: bool = True) -> list[Event]:
        return self.says(frames.headers(number, self.block(pairs), ends=ends))

    def opens(self, number: int, pairs: Pairs = POST) -> StreamFlow:
        (event,) = self.asks(number, pairs, ends=False)
        assert isinstance(event, RequestBegun)
        return event.stream

    def sends(self, number: int, data: bytes, flags: int = 0) -> list[Event]:
        return self.says(frame(frames.DATA, flags, number, data))

    @property
    def replies(self) -> bytes:
        found = b"".join(self.session.replies)
        self.session.replies.clear()
        return found


def frame(kind: int, flags: int, number: int, payload: bytes) -> bytes:
    return frames.frame_head(kind, flags, number, len(payload)) + payload


def test_a_request_is_found_and_its_authority_is_its_host() -> None:
    (event,) = Client().asks(1)

    assert isinstance(event, RequestBegun)
    assert (event.head.method, event.head.target) == ("GET", "/api?x=1")
    assert event.head.headers["Host"] == "localhost"
    assert event.head.headers["Accept"] == "application/json"
    assert not event.has_body


def test_bytes_that_come_one_by_one_are_the_same_requests() -> None:
    whole, piecemeal = Client(), Client()
    sent = b"".join(
        frames.headers(number, whole.block(POST), ends=False)
        + frame(frames.DATA, frames.END_STREAM, number, b"body")
        for number in (1, 3, 5)
    )

    together = whole.says(sent)
    apart = [event for byte in sent for event in piecemeal.says(bytes((byte,)))]

    assert len(apart) == 6
    assert [(type(one), one[1:]) for one in together] == [(type(one), one[1:]) for one in apart]


def test_a_cookie_in_crumbs_is_one_header() -> None:
    (event,) = Client().asks(1, [*GET, ("cookie", "a=b"), ("cookie", "c=d")])

    assert isinstance(event, RequestBegun)
    assert event.head.headers.getall("Cookie") == ["a=b; c=d"]


BAD_HEADS: dict[str, Pairs] = {
    "no path": [pair for pair in GET if pair[0] != ":path"],
    "no method": GET[1:],
    "no scheme": [pair for pair in GET if pair[0] != ":scheme"],
    "no authority": [pair for pair in GET if pair[0] != ":authority"],
    "a path twice": [*GET, (":path", "/other")],
    "an unknown pseudo-header": [(":protocol", "websocket"), *GET],
    "a pseudo-header behind a header": [*GET[:2], ("accept", "*/*"), *GET[2:]],
    "an upper case name": [*GET, ("Accept", "x")],
    "an empty name": [*GET, ("", "x")],
    "a line feed in a value": [*GET, ("x-own", "a\nb")],
    "a NUL in a value": [*GET, ("x-own", "a\0b")],
    "a value that begins with a space": [*GET, ("x-own", " a")],
    "a header of a connection": [*GET, ("connection", "upgrade")],
    "an upgrade": [*GET, ("upgrade", "websocket")],
    "chunks": [*GET, ("transfer-encoding", "chunked")],
    "another te": [*GET, ("te", "gzip")],
    "another host": [*GET, ("host", "elsewhere")],
    "CONNECT": [(":method", "CONNECT"), (":authority", "a:1")],
    "a path with a space": [*GET[:2], (":path", "/a b"), *GET[3:]],
    "a whole URL": [*GET[:2], (":path", "https://localhost/"), *GET[3:]],
    "a length that is text": [*GET, ("content-length", "ten")],
    "two lengths": [*GET, ("content-length", "1"), ("content-length", "1")],
    "201 headers": [*GET, *((f"x-{n}", "y") for n in range(201))],
}


@pytest.mark.parametrize("what", BAD_HEADS)
def test_a_malformed_request_resets_its_stream_alone(what: str) -> None:
    client = Client()

    assert client.asks(1, BAD_HEADS[what]) == []
    assert client.replies == frames.rst_stream(1, ErrorCode.PROTOCOL_ERROR)
    assert isinstance(client.asks(3)[0], RequestBegun)


def test_a_body_that_was_announced_must_come() -> None:
    client = Client()

    assert client.asks(1, [*POST, ("content-length", "4")]) == []
    assert client.replies == frames.rst_stream(1, ErrorCode.PROTOCOL_ERROR)


@pytest.mark.parametrize("body", [b"abc", b"abcde"])
def test_a_body_of_another_length_than_announced_resets_its_stream(body: bytes) -> None:
    client = Client()
    client.opens(1, [*POST, ("content-length", "4")])

    (event,) = client.sends(1, body, frames.END_STREAM)

    assert isinstance(event, StreamReset)
    assert client.replies == frames.rst_stream(1, ErrorCode.PROTOCOL_ERROR)


def test_trailers_end_a_body_and_are_dropped() -> None:
    client = Client()
    client.opens(1)
    client.sends(1, b"body")

    (event,) = client.asks(1, [("checksum", "x")])

    assert isinstance(event, BodyReceived)
    assert (event.data, event.is_last) == (b"", True)


def test_padding_belongs_to_no_body_but_counts_in_the_window() -> None:
    client = Client()
    flow = client.opens(1)

    (event,) = client.sends(1, b"\x03body\0\0\0", frames.PADDED)

    assert isinstance(event, BodyReceived)
    assert event.data == b"body"
    assert flow.incoming == BODY_BYTES - 8
    assert flow.consumed == 4  # given back without a reader


def test_what_was_read_may_come_again() -> None:
    client = Client()
    flow = client.opens(1)
    for _ in range(BODY_BYTES // frames.FRAME_BYTES_MAX):
        client.sends(1, bytes(frames.FRAME_BYTES_MAX))
    assert flow.incoming == 0

    client.session.credit(flow, BODY_BYTES)

    assert flow.incoming == BODY_BYTES
    assert client.replies == frames.window_update(0, BODY_BYTES) + frames.window_update(
        1, BODY_BYTES
    )


def test_more_of_a_body_than_the_window_resets_its_stream() -> None:
    client = Client()
    client.opens(1)
    for _ in range(BODY_BYTES // frames.FRAME_BYTES_MAX):
        client.sends(1, bytes(frames.FRAME_BYTES_MAX))

    (event,) = client.sends(1, b"x")

    assert isinstance(event, StreamReset)
    assert client.replies.endswith(frames.rst_stream(1, ErrorCode.FLOW_CONTROL_ERROR))


def test_a_stream_too_many_is_refused_and_the_table_of_headers_stays_right() -> None:
    client = Client(streams_max=1)
    client.asks(1)

    assert client.asks(3, [*GET, ("x-own", "new")]) == []
    assert client.replies == frames.rst_stream(3, ErrorCode.REFUSED_STREAM)
    client.session.ended(client.session.streams[1])
    (event,) = client.asks(5, [*GET, ("x-own", "new")])

    assert isinstance(event, RequestBegun)
    assert event.head.headers["x-own"] == "new"


def test_an_answer_before_the_end_of_its_request_resets_the_stream_without_error() -> None:
    client = Client()
    flow = client.opens(1)

    client.session.ended(flow)

    assert client.replies == frames.rst_stream(1, ErrorCode.NO_ERROR)
    assert client.sends(1, b"on its way") == []


def test_a_change_of_the_initial_window_holds_for_open_streams() -> None:
    client = Client()
    flow = client.opens(1)
    client.session.data(flow, bytes(60_000), ends=False)

    client.says(frames.settings((frames.INITIAL_WINDOW_SIZE, 10_000)))

    assert flow.outgoing == 10_000 - 60_000
    assert client.session.room(flow) < 0
    client.says(frames.settings((frames.INITIAL_WINDOW_SIZE, 100_000)))
    assert client.session.room(flow) == 5_535  # what the connection has left


def test_windows_grow_by_what_the_client_says() -> None:
    client = Client()
    flow = client.opens(1)

    assert client.says(frames.window_update(1, 5)) == [WindowGrown(flow)]
    assert client.says(frames.window_update(0, 7)) == [WindowGrown(None)]
    assert (flow.outgoing, client.session.outgoing) == (
        frames.WINDOW_BYTES + 5,
        frames.WINDOW_BYTES + 7,
    )


@pytest.mark.parametrize("size", [0, 1, 16_384, 16_385, 32_768, 65_000])
def test_bytes_are_sent_in_frames_of_16_kb_and_the_last_ends_the_stream(size: int) -> None:
    client = Client()
    flow = client.opens(1)
    content = (b"0123456789" * 7_000)[:size]

    made = client.session.data(flow, content, ends=True)

    heads, pieces = made[::2], made[1::2]
    sizes = [len(piece) for piece in pieces]
    assert b"".join(pieces) == content
    assert all(0 < size <= frames.FRAME_BYTES_MAX for size in sizes) or not content
    assert heads == [
        frames.frame_head(frames.DATA, frames.END_STREAM if piece is pieces[-1] else 0, 1, size)
        for piece, size in zip(pieces, sizes, strict=True)
    ]


def test_a_ping_is_answered_with_its_own_bytes() -> None:
    client = Client()

    client.says(frame(frames.PING, 0, 0, b"01234567"))

    assert client.replies == frames.ping_ack(b"01234567")


def test_after_the_farewell_no_stream_begins_and_those_before_go_on() -> None:
    client = Client()
    client.opens(1)
    client.session.go_away()

    assert client.asks(3) == []
    assert client.replies == frames.goaway(1, ErrorCode.NO_ERROR)
    assert isinstance(client.sends(1, b"body")[0], BodyReceived)
    assert client.sends(3, b"on its way") == []


MANY = bytes(frames.FRAME_BYTES_MAX)
BROKEN = {
    "data of no stream": (frame(frames.DATA, 0, 0, b"x"), ErrorCode.PROTOCOL_ERROR),
    "data of an idle stream": (frame(frames.DATA, 0, 9, b"x"), ErrorCode.PROTOCOL_ERROR),
    "a reset of an idle stream": (
        frames.rst_stream(9, ErrorCode.CANCEL),
        ErrorCode.PROTOCOL_ERROR,
    ),
    "a window of an idle stream": (frames.window_update(9, 1), ErrorCode.PROTOCOL_ERROR),
    "a stream of an even number": (frames.headers(2, b"\x82", ends=True), ErrorCode.PROTOCOL_ERROR),
    "a frame that is too long": (
        frames.frame_head(frames.DATA, 0, 1, frames.FRAME_BYTES_MAX + 1),
        ErrorCode.FRAME_SIZE_ERROR,
    ),
    "a continuation of nothing": (
        frame(frames.CONTINUATION, frames.END_HEADERS, 1, b""),
        ErrorCode.PROTOCOL_ERROR,
    ),
    "another frame within a header block": (
        frame(frames.HEADERS, 0, 1, b"\x82") + frame(frames.PING, 0, 0, bytes(8)),
        ErrorCode.PROTOCOL_ERROR,
    ),
    "a block that cannot be decoded": (
        frames.headers(1, b"\xff\xff", ends=True),
        ErrorCode.COMPRESSION_ERROR,
    ),
    "a header block without end": (
        frame(frames.HEADERS, 0, 1, MANY) + frame(frames.CONTINUATION, 0, 1, MANY) * 4,
        ErrorCode.ENHANCE_YOUR_CALM,
    ),
    "continuations that are empty": (
        frame(frames.HEADERS, 0, 1, b"") + frame(frames.CONTINUATION, 0, 1, b"") * 20,
        ErrorCode.ENHANCE_YOUR_CALM,
    ),
    "a promise": (frame(frames.PUSH_PROMISE, 0, 1, bytes(8)), ErrorCode.PROTOCOL_ERROR),
    "settings of a stream": (frame(frames.SETTINGS, 0, 1, b""), ErrorCode.PROTOCOL_ERROR),
    "settings of 5 bytes": (frame(frames.SETTINGS, 0, 0, bytes(5)), ErrorCode.FRAME_SIZE_ERROR),
    "a window that is too large": (
        frames.settings((frames.INITIAL_WINDOW_SIZE, 2**31)),
        ErrorCode.FLOW_CONTROL_ERROR,
    ),
    "windows that are too large together": (
        frames.window_update(0, frames.WINDOW_MAX),
        ErrorCode.FLOW_CONTROL_ERROR,
    ),
    "no window": (frames.window_update(0, 0), ErrorCode.FLOW_CONTROL_ERROR),
    "a ping of 7 bytes": (frame(frames.PING, 0, 0, bytes(7)), ErrorCode.FRAME_SIZE_ERROR),
    "a frame of padding": (frame(frames.DATA, frames.PADDED, 1, b"\x05"), ErrorCode.PROTOCOL_ERROR),
    "a flood of pings": (frame(frames.PING, 0, 0, bytes(8)) * 1_100, ErrorCode.ENHANCE_YOUR_CALM),
    "a flood of settings": (frames.settings() * 1_100, ErrorCode.ENHANCE_YOUR_CALM),
    "a flood of priorities": (
        frame(frames.PRIORITY, 0, 1, bytes(5)) * 1_100,
        ErrorCode.ENHANCE_YOUR_CALM,
    ),
    "a flood of unknown frames": (frame(77, 0, 0, b"") * 1_100, ErrorCode.ENHANCE_YOUR_CALM),
    "a flood of empty data": (frame(frames.DATA, 0, 1, b"") * 1_100, ErrorCode.ENHANCE_YOUR_CALM),
    "a flood of windows": (frames.window_update(0, 1) * 1_100, ErrorCode.ENHANCE_YOUR_CALM),
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_client_that_breaks_the_protocol_gets_the_code_of_its_fault(what: str) -> None:
    sent, code = BROKEN[what]
    client = Client()
    client.opens(1)

    with pytest.raises(ProtocolBroken) as caught:
        client.says(sent)

    assert caught.value.code is code


def test_what_is_no_preface_is_refused_at_its_first_byte() -> None:
    with pytest.raises(ProtocolBroken):
        ServerSession(100, lambda: 0.0).receive(b"G")


def reset_streams(client: Client, first: int, count: int) -> None:
    for number in range(first, first + 2 * count, 2):
        client.asks(number)
        client.says(frames.rst_stream(number, ErrorCode.CANCEL))


def test_a_client_that_takes_its_requests_back_at_once_is_not_served_for_long() -> None:
    """CVE-2023-44487."""
    client = Client()

    with pytest.raises(ProtocolBroken) as caught:
        reset_streams(client, 1, 1_000)

    assert caught.value.code is ErrorCode.ENHANCE_YOUR_CALM
    assert client.session.last < 1_100


def test_a_client_that_takes_a_few_back_each_second_is_served_for_ever() -> None:
    client = Client()

    for second in range(200):
        client.now_s = float(second)
        reset_streams(client, 1 + 80 * second, 40)

    assert client.session.streams == {}


def test_a_client_may_credit_each_frame_that_it_gets_however_many_they_are() -> None:
    client = Client()
    flow = client.opens(1)

    for _ in range(10_000):
        client.session.data(flow, b"x", ends=False)
        client.says(frames.window_update(0, 1) + frames.window_update(1, 1))

    assert client.session.outgoing == frames.WINDOW_BYTES


FRAMES = st.builds(
    frame,
    st.integers(0, 11),
    st.integers(0, 255),
    st.integers(0, 9),
    st.binary(max_size=40) | st.just(b"\x82\x84\x87\x41\x01x"),
)


@given(st.lists(FRAMES, max_size=30), st.binary(max_size=20))
@settings(max_examples=200)
def test_whatever_comes_is_requests_or_the_end(sent: list[bytes], noise: bytes) -> None:
    client = Client(streams_max=2)
    client.asks(1)
    try:
        events = client.says(b"".join(sent) + noise)
    except ProtocolBroken:
        return

    begun = [event for event in events if isinstance(event, RequestBegun)]
    assert len(client.session.streams) <= 2
    assert all(event.head.target.startswith(("/", "*")) for event in begun)
