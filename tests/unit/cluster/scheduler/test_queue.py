"""Which pod is placed next, and when a failed one is tried again."""

from __future__ import annotations

from proreus.cluster.scheduler.queue import SchedulingQueue


def test_the_highest_priority_goes_first_and_then_who_waited_longest() -> None:
    queue = SchedulingQueue()
    queue.add("late", 0, now=2)
    queue.add("early", 0, now=1)
    queue.add("important", 100, now=3)

    assert [queue.take(now=4) for _ in range(4)] == ["important", "early", "late", None]


def test_a_pod_that_does_not_fit_is_parked_until_the_cluster_changes() -> None:
    queue = SchedulingQueue()
    queue.add("p", 0, now=0)
    key = queue.take(now=0)
    queue.failed("p", now=0, moves=queue.moves)

    assert key == "p"
    assert queue.take(now=100) is None
    queue.cluster_changed()
    assert queue.take(now=100) == "p"


def test_a_change_does_not_shorten_the_back_off() -> None:
    queue = SchedulingQueue()
    queue.add("p", 0, now=0)
    queue.take(now=0)
    queue.failed("p", now=0, moves=queue.moves)

    queue.cluster_changed()

    assert queue.take(now=0.5) is None
    assert queue.next_ready_in(now=0.5) == 0.5
    assert queue.take(now=1) == "p"


def test_the_back_off_doubles_up_to_ten_seconds() -> None:
    queue = SchedulingQueue()
    queue.add("p", 0, now=0)
    waits, now = [], 0.0
    for _ in range(6):
        queue.take(now)
        queue.failed("p", now, queue.moves)
        queue.cluster_changed()
        wait = queue.next_ready_in(now)
        assert wait is not None
        waits.append(wait)
        now += wait

    assert waits == [1, 2, 4, 8, 10, 10]


def test_a_change_while_a_pod_was_being_placed_is_not_missed() -> None:
    queue = SchedulingQueue()
    queue.add("p", 0, now=0)
    queue.take(now=0)
    moves = queue.moves
    queue.cluster_changed()

    queue.failed("p", now=0, moves=moves)

    assert queue.take(now=1) == "p"


def test_a_parked_pod_is_tried_again_after_five_minutes_whatever_happens() -> None:
    queue = SchedulingQueue()
    queue.add("p", 0, now=0)
    queue.take(now=0)
    queue.failed("p", now=0, moves=queue.moves)

    queue.unpark_overdue(now=299)
    assert queue.take(now=299) is None
    queue.unpark_overdue(now=300)
    assert queue.take(now=300) == "p"


def test_a_deleted_pod_is_not_tried() -> None:
    queue = SchedulingQueue()
    queue.add("p", 0, now=0)

    queue.forget("p")

    assert queue.take(now=0) is None
    assert repr(queue) == "<SchedulingQueue: 0 pods, 0 in flight, 0 parked>"


def test_a_pod_that_changed_while_it_was_being_placed_is_tried_again() -> None:
    queue = SchedulingQueue()
    queue.add("p", 0, now=0)
    queue.take(now=0)
    queue.add("p", 0, now=0)

    queue.failed("p", now=0, moves=queue.moves)

    assert queue.take(now=1) == "p"


def test_the_failure_of_a_pod_is_not_held_against_the_next_of_its_name() -> None:
    queue = SchedulingQueue()
    queue.add("p", 0, now=0)
    queue.take(now=0)
    queue.forget("p")
    queue.add("p", 0, now=0)

    queue.failed("p", now=0, moves=queue.moves)

    assert queue.take(now=0) == "p"
