"""Watches from before their cache began: told what storage still knows, or to list again."""

from __future__ import annotations

import asyncio

import pytest

from proreus.server.storage.memory import MemoryStorage
from proreus.server.watch_cache import recall
from proreus.server.watch_cache.query import NotOlderThan, WatchQuery
from proreus.testing.virtual_clock import VirtualClock
from tests.watching import PREFIX, cluster_on, put, remove, selection

OTHERS = "/registry/others/"


def after(revision: int, select: str = "") -> WatchQuery:
    return WatchQuery(selection(select), state=NotOlderThan(revision))


async def test_a_watch_from_before_the_server_started_misses_nothing() -> None:
    """Guarantee: resumable"""
    clock = VirtualClock()
    async with MemoryStorage.open(clock) as storage:
        first = await put(storage, PREFIX, "a/1")
        changed = await put(storage, PREFIX, "a/1")
        second = await put(storage, PREFIX, "a/2")
        gone = await remove(storage, PREFIX, "a/1")
        for n in range(10):
            await put(storage, OTHERS, f"a/{n}")
        async with cluster_on(storage, clock, remembered=4, recalls=True) as cluster:
            watches = await asyncio.gather(
                *(cluster.watch(after(revision)) for revision in (second, first, changed))
            )
            last = await put(storage, PREFIX, "a/3")
            await cluster.settle()

    missed = [
        f"MODIFIED a/1 {changed}",
        f"ADDED a/2 {second}",
        f"DELETED a/1 {gone}",
        f"ADDED a/3 {last}",
    ]
    assert [watch.lines for watch in watches] == [missed[2:], missed, missed[1:]]


async def test_what_storage_has_compacted_is_too_old() -> None:
    clock = VirtualClock()
    async with MemoryStorage.open(clock) as storage:
        first = await put(storage, PREFIX, "a/1")
        last = await put(storage, PREFIX, "a/2")
        await storage.compact(last)
        async with cluster_on(storage, clock, recalls=True) as cluster:
            watch = await cluster.watch(after(first))
            await cluster.settle()

    assert "too old resource version" in watch.lines[0]


async def test_a_watch_that_missed_too_many_changes_is_too_old_and_others_are_resumed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(recall, "CHANGES_MAX", 3)
    clock = VirtualClock()
    async with MemoryStorage.open(clock) as storage:
        revisions = [await put(storage, PREFIX, f"a/{n}") for n in range(8)]
        async with cluster_on(storage, clock, recalls=True) as cluster:
            much, little = await asyncio.gather(
                cluster.watch(after(revisions[0])), cluster.watch(after(revisions[5]))
            )
            await cluster.settle()

    assert "too old resource version" in much.lines[0]
    assert little.lines == [f"ADDED a/6 {revisions[6]}", f"ADDED a/7 {revisions[7]}"]


async def test_what_history_has_dropped_is_too_old_whatever_storage_knows() -> None:
    """As in Kubernetes: so that an answer does not depend on how long a server has run."""
    clock = VirtualClock()
    async with MemoryStorage.open(clock) as storage:
        first = await put(storage, PREFIX, "a/0")
        async with cluster_on(storage, clock, recalls=True) as cluster:
            for n in range(150):
                await clock.advance(100)
                await cluster.write(f"a/{n}")
            await cluster.settle()
            watch = await cluster.watch(after(first))
            await cluster.settle()

    assert "too old resource version" in watch.lines[0]
