"""DeltaFifo: what comes out, in which order, and when it counts as synced."""

from __future__ import annotations

import asyncio

import pytest

from proreus.api.object import KubeObject
from proreus.client.informer import Delta, DeltaFifo, Indexer
from proreus.testing.virtual_clock import VirtualClock
from tests.unit.client.informer.scripted import pod


class Taken:
    """Collects what is popped, as words: ``a Added 1, Updated 2``."""

    def __init__(self) -> None:
        self.words: list[str] = []
        self.initial: list[bool] = []

    def __call__(self, key: str, deltas: list[Delta], is_initial: bool) -> None:
        said = [
            f"{d.type.value} {d.object.resource_version}{'' if d.final_state_known else '?'}"
            for d in deltas
        ]
        self.words.append(f"{key.partition('/')[2]} {', '.join(said)}")
        self.initial.append(is_initial)


@pytest.fixture
def known() -> Indexer:
    return Indexer()


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def fifo(known: Indexer, clock: VirtualClock) -> DeltaFifo:
    return DeltaFifo(known, clock=clock, limit=4)


def drain(fifo: DeltaFifo) -> list[str]:
    taken = Taken()
    while len(fifo):
        fifo.pop(taken)
    return taken.words


def remember(known: Indexer, *objects: KubeObject) -> None:
    for obj in objects:
        known.put(obj.key, obj)


def test_all_deltas_of_the_oldest_object_come_out_together_and_in_order(fifo: DeltaFifo) -> None:
    fifo.add(pod("a", 1))
    fifo.add(pod("b", 2))
    fifo.update(pod("a", 3))
    fifo.delete(pod("a", 4))

    assert drain(fifo) == ["a Added 1, Updated 3, Deleted 4", "b Added 2"]


def test_two_deletions_in_a_row_are_one_and_the_seen_one_stays(
    fifo: DeltaFifo, known: Indexer
) -> None:
    remember(known, pod("a", 1))

    fifo.replace([], "5")
    fifo.delete(pod("a", 4))

    assert drain(fifo) == ["a Deleted 4"]


def test_a_guessed_deletion_does_not_replace_a_seen_one(fifo: DeltaFifo, known: Indexer) -> None:
    remember(known, pod("a", 1))

    fifo.delete(pod("a", 4))
    fifo.replace([], "5")

    assert drain(fifo) == ["a Deleted 4"]


def test_a_deletion_of_an_unknown_object_is_dropped(fifo: DeltaFifo) -> None:
    fifo.delete(pod("a", 1))

    assert repr(fifo) == "<DeltaFifo not synced, 0 deltas of 0 objects>"


def test_a_list_reports_what_vanished_unseen_before_its_own_objects(
    fifo: DeltaFifo, known: Indexer
) -> None:
    """client.md §14 case 28: a tombstone with the last cached object, before relisted changes."""
    remember(known, pod("gone", 1), pod("stays", 2))

    fifo.replace([pod("new", 7), pod("stays", 2)], "9")

    assert drain(fifo) == ["gone Deleted 1?", "new Replaced 7", "stays Replaced 2"]


def test_a_tombstone_carries_the_newest_state_that_was_queued(
    fifo: DeltaFifo, known: Indexer
) -> None:
    remember(known, pod("a", 1))
    fifo.update(pod("a", 3))

    fifo.replace([], "9")

    assert drain(fifo) == ["a Updated 3, Deleted 3?"]


def test_it_is_synced_once_the_last_object_of_the_first_list_was_processed(
    fifo: DeltaFifo,
) -> None:
    fifo.replace([pod("a", 1), pod("b", 2)], "2")
    seen: list[bool] = []

    fifo.pop(lambda *_: seen.append(fifo.has_synced))
    fifo.pop(lambda *_: seen.append(fifo.has_synced))

    assert seen == [False, False]
    assert fifo.has_synced


def test_only_objects_of_the_first_list_are_initial(fifo: DeltaFifo) -> None:
    taken = Taken()
    fifo.replace([pod("a", 1)], "1")
    fifo.add(pod("b", 2))

    fifo.pop(taken)
    fifo.pop(taken)

    assert taken.initial == [True, False]


def test_an_empty_first_list_is_synced_at_once(fifo: DeltaFifo) -> None:
    """client.md §14 case 34, at the queue."""
    fifo.replace([], "3")

    assert fifo.has_synced
    assert fifo.applied_resource_version == "3"


def test_the_applied_version_waits_for_objects_that_came_before(
    fifo: DeltaFifo, known: Indexer
) -> None:
    """``a`` is popped with its version 5 while ``b`` at 3 still waits: 3 has not been applied."""
    fifo.replace([], "1")
    fifo.add(pod("a", 2))
    fifo.add(pod("b", 3))
    fifo.update(pod("a", 5))
    versions = [fifo.applied_resource_version]

    for _ in range(2):
        fifo.pop(Taken())
        versions.append(fifo.applied_resource_version)

    assert versions == ["1", "2", "5"]


def test_a_bookmark_moves_the_applied_version_behind_what_waits(fifo: DeltaFifo) -> None:
    fifo.replace([], "1")
    fifo.add(pod("a", 2))
    fifo.bookmark("8")

    before = fifo.applied_resource_version
    fifo.pop(Taken())

    assert (before, fifo.applied_resource_version) == ("1", "8")


async def test_a_full_queue_holds_its_producer_until_the_consumer_takes(fifo: DeltaFifo) -> None:
    for version in range(4):
        fifo.update(pod("a", version))
    held = asyncio.ensure_future(fifo.wait_room())
    await asyncio.sleep(0)
    was_held = not held.done()

    fifo.pop(Taken())
    await held

    assert was_held
    assert not fifo.is_full


async def test_news_are_deltas_lists_and_bookmarks(fifo: DeltaFifo) -> None:
    fifo.replace([], "1")
    await fifo.wait_news()
    fifo.bookmark("2")
    await fifo.wait_news()
    fifo.add(pod("a", 3))
    await fifo.wait_news()
    fifo.pop(Taken())
    quiet = asyncio.ensure_future(fifo.wait_news())
    await asyncio.sleep(0)

    assert not quiet.done()
    quiet.cancel()


async def test_lag_is_the_age_of_the_oldest_delta(fifo: DeltaFifo, clock: VirtualClock) -> None:
    fifo.add(pod("a", 1))
    await clock.advance(3)
    fifo.update(pod("a", 2))

    assert fifo.lag_s == 3
