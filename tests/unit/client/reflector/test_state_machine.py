"""Course: from the end of each request to the next state, without I/O."""

from __future__ import annotations

import pytest

from proreus.api.status import (
    ApiError,
    Expired,
    Forbidden,
    InternalError,
    Invalid,
    NotFound,
    ResourceVersionTooLarge,
    TooManyRequests,
    Unauthorized,
)
from proreus.client.reflector.state_machine import (
    BackingOff,
    Cause,
    Failure,
    Listing,
    NextState,
    ReflectorStateMachine,
    StreamEnd,
    StreamingList,
    Watching,
)
from proreus.net.client.transport_error import (
    ConnectionLost,
    ConnectionRefused,
    StreamSilent,
    TlsFailed,
)

EXPIRED = Expired("too old resource version")
TOO_LARGE = ResourceVersionTooLarge.of(200, 100, retry_after_s=1)
REFUSED = ConnectionRefused("https://x", "refused")
LOST = ConnectionLost("https://x", "reset")
THROTTLED = TooManyRequests.of("wait", 7)


def listing(*, synced_at: str = "") -> ReflectorStateMachine:
    machine = ReflectorStateMachine(stream_lists=False)
    if synced_at:
        machine.synced(synced_at)
    return machine


def streaming(*, synced_at: str = "") -> ReflectorStateMachine:
    machine = ReflectorStateMachine()
    if synced_at:
        machine.synced(synced_at)
    return machine


def ended(
    failure: Failure | None = None,
    *,
    was_open: bool = True,
    lasted_s: float = 300,
    events: int = 0,
    is_silent: bool = False,
) -> StreamEnd:
    return StreamEnd(failure, was_open, lasted_s, events, is_silent)


# LIST


def test_a_fresh_list_takes_any_state_in_pages_of_500() -> None:
    """client.md §14 case 15."""
    assert listing().begin() == Listing("0", limit=500)


def test_the_list_version_is_the_first_pages() -> None:
    """client.md §14 case 16."""
    machine = listing()
    first = Listing("0", limit=500)

    second = machine.page_listed(first, "10", "token-2")
    assert isinstance(second, Listing)
    third = machine.page_listed(second, "11", "token-3")
    assert isinstance(third, Listing)
    end = machine.page_listed(third, "12", "")

    assert [second.continue_token, third.continue_token] == ["token-2", "token-3"]
    assert end == Watching("10")
    assert machine.last_version == "10"


def test_a_relist_asks_for_at_least_the_last_version_in_one_piece() -> None:
    """client.md §14 case 17."""
    assert listing(synced_at="100").begin() == Listing("100", limit=0)


def test_a_server_that_pages_at_version_zero_has_no_watch_cache_and_is_paged_from_then_on() -> None:
    machine = listing()
    second = machine.page_listed(Listing("0", limit=500), "10", "token")
    assert isinstance(second, Listing)
    machine.page_listed(second, "10", "")

    assert machine.begin() == Listing("10", limit=500)


def test_a_configured_page_size_always_counts() -> None:
    machine = ReflectorStateMachine(stream_lists=False, page_size=50)
    machine.synced("10")

    assert machine.begin() == Listing("10", limit=50)


def test_a_page_that_expired_is_followed_by_one_whole_list_at_the_original_version() -> None:
    """client.md §14 case 18, page two."""
    machine = listing()
    second = machine.page_listed(Listing("0", limit=500), "10", "token")
    assert isinstance(second, Listing)

    assert machine.list_failed(second, EXPIRED).next == Listing("0", limit=0)


def test_a_first_page_that_expired_is_followed_by_a_list_of_the_newest_state() -> None:
    """client.md §14 case 18, page one."""
    machine = listing(synced_at="100")

    assert machine.list_failed(Listing("100", limit=0), EXPIRED).next == Listing("", limit=500)


def test_a_version_that_is_too_large_is_followed_by_a_list_of_the_newest_state() -> None:
    """client.md §14 case 19."""
    machine = listing(synced_at="200")

    assert machine.list_failed(Listing("200", limit=0), TOO_LARGE).next == Listing("", limit=500)


def test_the_newest_state_that_cannot_be_had_either_is_waited_for() -> None:
    machine = listing(synced_at="200")
    machine.list_failed(Listing("200", limit=0), TOO_LARGE)

    decision = machine.list_failed(Listing("", limit=500), TOO_LARGE)

    assert decision.next == BackingOff(Listing("", limit=500), at_least_s=1)


@pytest.mark.parametrize(
    "failure",
    [
        REFUSED,
        LOST,
        InternalError.of("x"),
        Unauthorized.default(),
        Forbidden("no"),
        NotFound.path(),
    ],
)
def test_no_failure_of_a_list_is_final(failure: Failure) -> None:
    machine = listing(synced_at="100")

    assert machine.list_failed(Listing("100", 0), failure).next == BackingOff(Listing("100", 0))


def test_after_a_success_versions_count_again() -> None:
    machine = listing(synced_at="200")
    machine.list_failed(Listing("200", limit=0), TOO_LARGE)

    machine.page_listed(Listing("", limit=500), "150", "")

    assert machine.begin() == Listing("150", limit=0)


# WATCH


def test_a_watch_closed_by_its_timeout_is_reopened_at_once() -> None:
    """client.md §14 case 20."""
    assert streaming(synced_at="7").stream_ended(Watching("7"), ended()) == NextState(
        Cause.CLOSED, Watching("7")
    )


@pytest.mark.parametrize("failure", [REFUSED, TlsFailed("https://x", "unknown CA")])
def test_a_server_that_cannot_be_reached_is_never_asked_for_a_list(failure: Failure) -> None:
    """client.md §14 case 22."""
    decision = streaming(synced_at="7").stream_ended(
        Watching("7"), ended(failure, was_open=False, lasted_s=0)
    )

    assert decision == NextState(Cause.REFUSED, BackingOff(Watching("7")))


def test_a_throttled_watch_waits_as_long_as_asked_and_does_not_list() -> None:
    machine = streaming(synced_at="7")

    at_open = machine.stream_ended(Watching("7"), ended(THROTTLED, was_open=False))
    as_event = machine.stream_ended(Watching("7"), ended(THROTTLED))

    assert (
        at_open == as_event == NextState(Cause.THROTTLED, BackingOff(Watching("7"), at_least_s=7))
    )


def test_an_expired_watch_relists_at_the_last_version_after_a_rest() -> None:
    """client.md §14 case 21: not at "", which would be a quorum read for every client at once."""
    machine = listing(synced_at="7")

    assert machine.stream_ended(Watching("7"), ended(EXPIRED)) == NextState(
        Cause.EXPIRED, BackingOff(Listing("7", limit=0))
    )


@pytest.mark.parametrize(
    "failure", [InternalError.of("x"), Forbidden("no"), Unauthorized.default(), NotFound.path()]
)
def test_a_watch_that_the_server_ends_with_an_error_relists_after_a_rest(failure: ApiError) -> None:
    machine = listing(synced_at="7")

    assert machine.stream_ended(Watching("7"), ended(failure)) == NextState(
        Cause.FAILED, BackingOff(Listing("7", limit=0))
    )


def test_a_watch_that_broke_while_opening_relists_after_a_rest() -> None:
    machine = listing(synced_at="7")

    decision = machine.stream_ended(Watching("7"), ended(LOST, was_open=False))

    assert decision == NextState(Cause.CUT, BackingOff(Listing("7", limit=0)))


def test_a_watch_that_closed_at_once_and_empty_is_not_repeated_in_a_spin() -> None:
    """client.md §14 case 23."""
    machine = listing(synced_at="7")

    assert machine.stream_ended(Watching("7"), ended(lasted_s=0.1)) == NextState(
        Cause.TOO_SHORT, BackingOff(Listing("7", limit=0))
    )


@pytest.mark.parametrize(
    ("end", "cause"),
    [
        (ended(LOST, events=1), Cause.CUT),
        (ended(is_silent=True), Cause.SILENT),
        (ended(StreamSilent("https://x", "90 s"), is_silent=True), Cause.SILENT),
    ],
)
def test_a_watch_that_was_cut_or_fell_silent_is_resumed(end: StreamEnd, cause: Cause) -> None:
    assert streaming(synced_at="7").stream_ended(Watching("7"), end) == NextState(
        cause, Watching("7")
    )


def test_short_watches_with_events_are_resumed_but_a_row_of_them_is_paced() -> None:
    machine = streaming(synced_at="7")
    short = ended(lasted_s=0.1, events=1)

    decisions = [machine.stream_ended(Watching("7"), short).next for _ in range(2)]
    machine.stream_ended(Watching("7"), ended(lasted_s=60))
    decisions.append(machine.stream_ended(Watching("7"), short).next)

    assert decisions == [Watching("7"), BackingOff(Watching("7")), Watching("7")]


# WATCH that begins with the whole collection


def test_a_fresh_pass_streams_the_list() -> None:
    assert streaming().begin() == StreamingList("")
    assert streaming(synced_at="7").begin() == StreamingList("7")


def test_a_server_that_rejects_streaming_is_asked_for_a_list_at_once() -> None:
    """client.md §14 case 27."""
    machine = streaming()
    rejected = Invalid("sendInitialEvents is forbidden")

    decision = machine.stream_ended(StreamingList(""), ended(rejected, was_open=False, lasted_s=0))

    assert decision.next == Listing("0", limit=500)
    assert machine.begin() == StreamingList(""), "the next pass tries again"


@pytest.mark.parametrize("failure", [REFUSED, THROTTLED])
def test_streaming_is_not_given_up_for_a_server_that_is_down_or_busy(failure: Failure) -> None:
    decision = streaming().stream_ended(StreamingList(""), ended(failure, was_open=False))

    assert isinstance(decision.next, BackingOff)
    assert decision.next.then == StreamingList("")


@pytest.mark.parametrize("failure", [EXPIRED, TOO_LARGE])
def test_streaming_at_an_impossible_version_is_tried_at_the_newest_once(failure: ApiError) -> None:
    machine = streaming(synced_at="7")

    first = machine.stream_ended(StreamingList("7"), ended(failure, was_open=False)).next
    second = machine.stream_ended(StreamingList(""), ended(failure, was_open=False)).next

    assert (first, second) == (StreamingList(""), Listing("", limit=500))


def test_a_streamed_list_that_broke_is_streamed_again() -> None:
    machine = streaming()

    long = machine.stream_ended(StreamingList(""), ended(LOST, lasted_s=20, events=10))
    short = machine.stream_ended(StreamingList(""), ended(LOST, lasted_s=0.2, events=10))
    empty = machine.stream_ended(StreamingList(""), ended(lasted_s=0.2))

    assert long == NextState(Cause.UNFINISHED, StreamingList(""))
    assert short == NextState(Cause.UNFINISHED, BackingOff(StreamingList("")))
    assert empty == NextState(Cause.TOO_SHORT, Listing("0", limit=500))


def test_a_server_that_never_marks_the_end_is_asked_for_plain_lists_after_two_tries() -> None:
    machine = streaming()
    silent = ended(lasted_s=10, events=5, is_silent=True)

    first = machine.stream_ended(StreamingList(""), silent)
    retried = machine.begin()
    machine.stream_ended(StreamingList(""), silent)

    assert first == NextState(Cause.UNFINISHED, Listing("0", limit=500))
    assert retried == StreamingList("")
    assert machine.begin() == Listing("0", limit=500)
