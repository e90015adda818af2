"""The ring of recent changes: how it grows, shrinks and forgets (server.md §4.3, §4.4)."""

from __future__ import annotations

import pytest

from proreus.api.status import Expired
from proreus.server.watch_cache.history import (
    CAPACITY_MAX,
    CAPACITY_MIN,
    History,
    Overtaken,
    Transition,
)


def filled(history: History, count: int, *, first: int = 1, every_s: float = 0.0) -> History:
    for n in range(first, first + count):
        history.append(Transition(n, f"k{n}", None, None, n * every_s))
    return history


def revisions(transitions: list[Transition]) -> list[int]:
    return [transition.revision for transition in transitions]


def test_right_after_a_list_its_revision_is_good_to_start_from() -> None:
    history = History(41)

    assert history.position_after(41) == history.end == 0
    with pytest.raises(Expired, match=r"^too old resource version: 40 \(41\)$"):
        history.position_after(40)


def test_a_full_ring_younger_than_its_window_doubles() -> None:
    history = filled(History(0), CAPACITY_MIN)
    assert history.capacity == CAPACITY_MIN

    filled(history, 1, first=CAPACITY_MIN + 1)

    assert history.capacity == 2 * CAPACITY_MIN
    assert revisions(history.read(0, 1000)) == list(range(1, CAPACITY_MIN + 2))


def test_it_grows_to_its_limit_and_then_drops_the_oldest() -> None:
    history = filled(History(0), CAPACITY_MAX + 10)

    assert history.capacity == CAPACITY_MAX
    assert history.complete_after == 10
    with pytest.raises(Expired, match=r"^too old resource version: 9 \(10\)$"):
        history.position_after(9)
    assert revisions(history.read(history.position_after(10), 2)) == [11, 12]


def test_a_full_ring_older_than_its_window_drops_the_oldest() -> None:
    history = filled(History(0), CAPACITY_MIN + 5, every_s=1.0)

    assert history.capacity == CAPACITY_MIN
    assert len(history) == CAPACITY_MIN
    assert history.complete_after == 5


def test_the_oldest_is_named_by_the_revision_before_it() -> None:
    """Others' writes lie between ours; the number in the message is the oldest kept minus one."""
    history = History(0)
    for n in range(CAPACITY_MIN + 1):
        history.append(Transition(10 * n + 10, "k", None, None, n * 1.0))

    with pytest.raises(Expired, match=r"^too old resource version: 18 \(19\)$"):
        history.position_after(18)
    assert revisions(history.read(history.position_after(19), 1)) == [20]


def test_a_ring_mostly_older_than_its_window_halves_and_keeps_the_newest() -> None:
    history = filled(History(0), 2 * CAPACITY_MIN)
    assert history.capacity == 2 * CAPACITY_MIN

    history.append(Transition(1_000, "late", None, None, 1_000.0))

    assert history.capacity == CAPACITY_MIN
    assert len(history) == CAPACITY_MIN
    assert history.read(history.end - 1, 1)[0].revision == 1_000
    assert history.complete_after == CAPACITY_MIN + 1


def test_positions_only_grow_and_one_left_behind_is_refused() -> None:
    history = filled(History(0), CAPACITY_MIN, every_s=1.0)
    position = history.position_after(3)
    assert revisions(history.read(position, 1)) == [4]

    filled(history, 4, first=CAPACITY_MIN + 1, every_s=1.0)

    with pytest.raises(Overtaken):
        history.read(position, 1)
    assert revisions(history.read(position + 1, 1)) == [5]


def test_a_transaction_cut_in_half_is_no_longer_complete() -> None:
    history = History(0)
    history.append(Transition(5, "a", None, None, 0.0))
    history.append(Transition(5, "b", None, None, 0.0))
    filled(history, CAPACITY_MIN - 1, first=6, every_s=100.0)

    assert history.complete_after == 5
    assert history.read(history.position_after(5), 1)[0].revision == 6


def test_reading_backwards_stops_at_the_revision() -> None:
    history = filled(History(0), 7)

    assert revisions(list(history.backwards_to(4))) == [7, 6, 5]
    assert revisions(list(history.backwards_to(7))) == []
    assert repr(history) == "<History of 7 changes after 0, capacity 100>"
    assert repr(history.read(0, 1)[0]) == "<Transition: k1 created at 1>"
