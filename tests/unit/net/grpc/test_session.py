"""A client's session against another implementation's server, byte by byte and without a socket."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proreus.net.grpc.failures import Code, RpcFailed
from proreus.net.grpc.header_blocks import request_block
from proreus.net.grpc.session import BACKLOG_MAX, PINGS_MAX, STREAM_WINDOW, Http2Session
from proreus.net.http2 import frames
from tests.unit.net.grpc.h2_peer import Collected, Cuts, Peer, prefixed

BLOCK = request_block("http", "etcd:2379", "/a.B/C", (("hasleader", "true"),), 2.0)
SIZES = st.integers(0, 40_000) | st.integers(0, 40)


def cuts_of(seed: int) -> Cuts:
    """Cut bytes at random places."""
    chance = random.Random(seed)

    def cut(data: bytes) -> Iterator[bytes]:
        at = 0
        while at < len(data):
            size = chance.choice((1, 8, 9, 10, 500, 20_000, 300_000))
            yield data[at : at + size]
            at += size

    return cut


def failures(collected: Collected) -> list[tuple[Code, str, bool]]:
    return [(f.code, f.details, f.is_unsent) for f in collected.ends if f is not None]


def test_a_call_is_what_grpc_says_it_is() -> None:
    session, peer, answer = Http2Session(), Peer(), Collected()
    session.begin(BLOCK, answer, b"question", ends=True)
    peer.talk(session)

    request = peer.requests[1]
    assert request.headers == {
        ":method": "POST",
        ":scheme": "http",
        ":path": "/a.B/C",
        ":authority": "etcd:2379",
        "te": "trailers",
        "content-type": "application/grpc",
        "user-agent": "proreus",
        "hasleader": "true",
        "grpc-timeout": "2000m",
    }
    assert (request.messages, request.is_ended) == ([b"question"], True)
    peer.answer(1, b"answer")
    peer.talk(session)
    assert (answer.messages, answer.ends, len(session)) == ([b"answer"], [None], 0)


@settings(max_examples=25, deadline=None)
@given(
    sizes=st.lists(SIZES, min_size=1, max_size=8),
    window=st.integers(1_000, 100_000),
    frame=st.integers(16_384, 40_000),
    seed=st.integers(0, 2**32),
)
def test_what_is_sent_arrives_whatever_the_peers_windows(
    sizes: list[int], window: int, frame: int, seed: int
) -> None:
    session = Http2Session()
    peer = Peer({frames.INITIAL_WINDOW_SIZE: window, frames.MAX_FRAME_SIZE: frame})
    peer.talk(session)
    sent = [random.Random(size).randbytes(size) for size in sizes]
    for message in sent:
        session.begin(BLOCK, Collected(), message, ends=True)
    peer.talk(session, cuts_of(seed))

    assert [request.messages for request in peer.requests.values()] == [[m] for m in sent]
    assert all(request.is_ended for request in peer.requests.values())


@settings(max_examples=25, deadline=None)
@given(sizes=st.lists(SIZES, max_size=12), seed=st.integers(0, 2**32))
def test_what_is_answered_arrives_however_it_is_cut(sizes: list[int], seed: int) -> None:
    session, peer, one, other = Http2Session(), Peer(), Collected(), Collected()
    for collected in (one, other):
        session.begin(BLOCK, collected, b"", ends=True)
    peer.talk(session)
    sent = [random.Random(size).randbytes(size) for size in sizes]
    peer.answer(3, *sent[:3])
    peer.answer(1, *sent)
    peer.talk(session, cuts_of(seed))

    assert (one.messages, one.ends) == (sent, [None])
    assert (other.messages, other.ends) == (sent[:3], [None])


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_damaged_bytes_end_the_connection_and_nothing_else(data: st.DataObject) -> None:
    session, peer = Http2Session(), Peer()
    calls = [Collected() for _ in range(3)]
    for collected in calls:
        session.begin(BLOCK, collected, b"x", ends=True)
    peer.talk(session)
    peer.answer(1, b"one")
    peer.answer(3, b"two")
    peer.answer(5, b"three")
    sent = bytearray(peer.h2.data_to_send())
    for _ in range(data.draw(st.integers(1, 3))):
        sent[data.draw(st.integers(0, len(sent) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(frames.ProtocolBroken):
        session.receive(bytes(sent))
    session.lost(RpcFailed(Code.UNAVAILABLE, "closed"))

    assert [len(collected.ends) for collected in calls] == [1, 1, 1]
    assert len(session) == 0


def test_a_failure_may_come_without_an_answer() -> None:
    session, peer, answer = Http2Session(), Peer(), Collected()
    session.begin(BLOCK, answer, b"x", ends=True)
    peer.talk(session)
    head = [
        (":status", "200"),
        ("content-type", "application/grpc"),
        ("grpc-status", "14"),
        ("grpc-message", "etcdserver: no%20leader %E2%86%92"),
    ]
    peer.h2.send_headers(1, head, end_stream=True)
    peer.talk(session)

    assert failures(answer) == [(Code.UNAVAILABLE, "etcdserver: no leader →", False)]
    assert peer.requests[1].reset is None


def test_an_answer_before_the_question_was_sent_whole_ends_the_call() -> None:
    """etcd refuses what is too large before it has read it."""
    session, peer, answer = Http2Session(), Peer(acknowledges=False), Collected()
    session.begin(BLOCK, answer, bytes(1_000_000), ends=True)
    peer.talk(session)
    peer.head(1)
    peer.status(1, 8, "larger than max")
    peer.talk(session)

    assert failures(answer) == [(Code.RESOURCE_EXHAUSTED, "larger than max", False)]
    assert peer.requests[1].reset == frames.ErrorCode.CANCEL


@pytest.mark.parametrize(
    ("status", "code"), [("503", Code.UNAVAILABLE), ("404", Code.UNKNOWN), ("302", Code.UNKNOWN)]
)
def test_an_answer_that_is_no_grpc_is_a_failure(status: str, code: Code) -> None:
    session, peer, answer = Http2Session(), Peer(), Collected()
    session.begin(BLOCK, answer, b"x", ends=True)
    peer.talk(session)
    peer.h2.send_headers(1, [(":status", status)])
    peer.talk(session)

    assert [found for found, _, _ in failures(answer)] == [code]


def test_an_answer_without_a_status_is_a_failure() -> None:
    session, peer, answer = Http2Session(), Peer(), Collected()
    session.begin(BLOCK, answer, b"x", ends=True)
    peer.talk(session)
    peer.head(1)
    peer.h2.send_data(1, prefixed(b"answer"), end_stream=True)
    peer.talk(session)

    assert [code for code, _, _ in failures(answer)] == [Code.INTERNAL]


@pytest.mark.parametrize("cut", [b"\1\0\0\0\1x", b"\0\xff\xff\xff\xff"])
def test_a_message_that_is_compressed_or_too_large_ends_its_call_alone(cut: bytes) -> None:
    session, peer, answer, other = Http2Session(), Peer(), Collected(), Collected()
    session.begin(BLOCK, answer, b"x", ends=True)
    session.begin(BLOCK, other, b"x", ends=True)
    peer.talk(session)
    peer.head(1)
    peer.data(1, cut)
    peer.answer(3, b"fine")
    peer.talk(session)

    assert len(failures(answer)) == 1
    assert (other.messages, other.ends) == ([b"fine"], [None])


@pytest.mark.parametrize(
    ("code", "is_unsent"),
    [(frames.ErrorCode.REFUSED_STREAM, True), (frames.ErrorCode.CANCEL, False), (2, False)],
)
def test_a_refused_stream_was_not_looked_at_and_a_reset_one_may_have_been(
    code: int, is_unsent: bool
) -> None:
    session, peer, answer = Http2Session(), Peer(), Collected()
    session.begin(BLOCK, answer, b"x", ends=True)
    peer.talk(session)
    peer.h2.reset_stream(1, code)
    peer.talk(session)

    assert [unsent for _, _, unsent in failures(answer)] == [is_unsent]


def test_after_a_farewell_calls_that_were_taken_are_answered_and_others_were_not_sent() -> None:
    session, peer, taken, refused = Http2Session(), Peer(), Collected(), Collected()
    session.begin(BLOCK, taken, b"x", ends=True)
    peer.talk(session)
    session.begin(BLOCK, refused, b"x", ends=True)
    farewell = frames.frame(frames.GOAWAY, 0, 0, b"\0\0\0\1\0\0\0\0max_age")
    session.receive(farewell)

    assert [unsent for _, _, unsent in failures(refused)] == [True]
    assert "max_age" in session.ending
    peer.answer(1, b"answer")
    session.receive(peer.h2.data_to_send())
    assert (taken.messages, taken.ends, len(session)) == ([b"answer"], [None], 0)


def test_streams_the_peer_does_not_allow_yet_wait() -> None:
    session = Http2Session()
    peer = Peer({frames.MAX_CONCURRENT_STREAMS: 2})
    peer.talk(session)
    calls = [Collected() for _ in range(4)]
    streams = [session.begin(BLOCK, each, b"%d" % n, ends=True) for n, each in enumerate(calls)]
    peer.talk(session)
    assert [request.messages for request in peer.requests.values()] == [[b"0"], [b"1"]]

    session.cancel(streams[2])
    peer.answer(1, b"first")
    peer.talk(session)
    assert [request.messages for request in peer.requests.values()] == [[b"0"], [b"1"], [b"3"]]


def test_a_stream_whose_messages_nobody_takes_is_granted_no_more_and_others_are() -> None:
    session, peer = Http2Session(), Peer()
    kept, other = Collected(backlog=BACKLOG_MAX), Collected()
    stream = session.begin(BLOCK, kept, b"x", ends=False)
    peer.talk(session)
    peer.head(1)
    while room := peer.h2.local_flow_control_window(1):
        peer.data(1, bytes(min(room, 1024 * 1024)))
        peer.talk(session)
    session.begin(BLOCK, other, b"x", ends=True)
    peer.talk(session)
    peer.answer(3, bytes(100_000))
    peer.talk(session)
    assert len(other.messages) == 1
    kept.backlog = 0
    session.taken(stream)
    peer.talk(session)
    assert peer.h2.local_flow_control_window(1) == STREAM_WINDOW


def test_messages_are_sent_one_after_another_on_a_stream() -> None:
    session, peer, answers = Http2Session(), Peer(), Collected()
    stream = session.begin(BLOCK, answers, b"create", ends=False)
    session.send(stream, b"progress")
    peer.talk(session)
    peer.head(1)
    peer.data(1, prefixed(b"created") + prefixed(b""))
    peer.talk(session)

    assert peer.requests[1].messages == [b"create", b"progress"]
    assert (answers.messages, answers.ends) == ([b"created", b""], [])
    session.cancel(stream)
    peer.talk(session)
    assert (peer.requests[1].reset, answers.ends, len(session)) == (frames.ErrorCode.CANCEL, [], 0)


def test_late_frames_of_a_cancelled_call_are_passed_over() -> None:
    session, peer, cancelled, other = Http2Session(), Peer(), Collected(), Collected()
    stream = session.begin(BLOCK, cancelled, b"x", ends=True)
    session.begin(BLOCK, other, b"x", ends=True)
    peer.talk(session)
    session.cancel(stream)
    peer.answer(1, b"late")
    peer.answer(3, b"answer")
    session.receive(peer.h2.data_to_send())

    assert (cancelled.messages, cancelled.ends) == ([], [])
    assert (other.messages, other.ends) == ([b"answer"], [None])


def test_pings_are_answered_when_the_owner_says_so() -> None:
    session, peer = Http2Session(), Peer()
    peer.h2.ping(b"12345678")
    peer.h2.ping(b"abcdefgh")
    peer.talk(session)
    before = peer.pings

    session.answer_pings()
    peer.talk(session)

    assert (before, peer.pings, session.pings) == (0, 2, [])


def test_a_peer_that_pings_again_and_again_is_answered_at_once() -> None:
    session, peer = Http2Session(), Peer()
    for number in range(2 * PINGS_MAX + 1):
        peer.h2.ping(number.to_bytes(8))
    peer.talk(session)

    assert (peer.pings, len(session.pings)) == (2 * PINGS_MAX, 1)


def test_a_head_that_begins_as_a_known_one_is_waited_for() -> None:
    session, answers = Http2Session(), [Collected() for _ in range(3)]
    for answer in answers:
        session.begin(BLOCK, answer, b"question", ends=True)
    head, status = b"\x88", b"\x00\x0bgrpc-status\x010"
    longer = status + b"\x00\x04more\x04said"

    def sent(number: int, block: bytes) -> bytes:
        data = frames.frame(frames.DATA, 0, number, prefixed(b"answer"))
        return (
            frames.headers(number, head, ends=False)
            + data
            + frames.headers(number, block, ends=True)
        )

    session.receive(sent(1, status))
    whole = sent(3, longer)
    session.receive(whole[: len(whole) - len(longer) + len(status)])
    ended_early = list(answers[1].ends)
    session.receive(whole[len(whole) - len(longer) + len(status) :] + sent(5, status))

    assert ended_early == []
    assert [answer.ends for answer in answers] == [[None]] * 3


def test_numbers_of_streams_come_to_an_end() -> None:
    session = Http2Session()
    session._next = frames.NUMBER_MAX
    session.begin(BLOCK, Collected(), b"x", ends=True)

    assert session.ending == "all numbers of streams have been used"


@pytest.mark.parametrize(
    "sent",
    [
        frames.frame(frames.DATA, 0, 7, b"x"),  # a stream that never began
        frames.frame(frames.DATA, 0, 2, b"x"),  # a server's own
        frames.frame(frames.HEADERS, 4, 7, b""),
        frames.frame(frames.HEADERS, 4, 1, b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"),
        frames.frame(frames.HEADERS, 4 | 8, 1, b"\x05abc"),  # more padding than data
        frames.frame(frames.HEADERS, 0, 1, b"") + frames.frame(frames.PING, 0, 0, bytes(8)),
        frames.frame(frames.CONTINUATION, 4, 1, b""),
        frames.frame(frames.PUSH_PROMISE, 4, 1, bytes(4)),
        frames.frame(frames.SETTINGS, 0, 0, b"x"),
        frames.settings((frames.INITIAL_WINDOW_SIZE, 2**31)),
        frames.settings((frames.MAX_FRAME_SIZE, 5)),
        frames.window_update(0, 0),
        frames.window_update(0, 2**31 - 1),
        frames.frame(frames.PING, 0, 0, b"x"),
        frames.frame(frames.GOAWAY, 0, 0, b"x"),
        frames.frame(frames.RST_STREAM, 0, 1, b"x"),
        frames.frame_head(frames.DATA, 0, 1, 2**24 - 1),
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
    ],
    ids=bytes.hex,
)
def test_what_is_no_http2_is_refused(sent: bytes) -> None:
    session = Http2Session()
    session.begin(BLOCK, Collected(), b"x", ends=True)

    with pytest.raises(frames.ProtocolBroken):
        session.receive(sent)
