"""The shared log of recent changes and the watches that read it."""

from __future__ import annotations

from proreus.server.storage.change_log import ChangeLog, LogWatch, Position
from proreus.server.storage.interface import Change, ChangeBatch, StoredValue


def change(revision: int, key: str = "/r/a", size: int = 1) -> Change:
    return Change(revision, key, None, StoredValue(key, bytes(size), revision))


def test_changes_that_every_watch_has_read_are_dropped() -> None:
    log = ChangeLog(1)
    first, second = log.open("/r/", 1), log.open("/r/", 1)
    log.publish([change(2), change(3)], 3)

    assert log.take(first) == ChangeBatch((change(2), change(3)), 3)
    assert repr(log) == "<ChangeLog at 3: 2 changes kept, 2 watches>"
    log.take(second)

    assert repr(log) == "<ChangeLog at 3: 0 changes kept, 2 watches>"
    assert log.take(first) is None


def test_without_watches_nothing_is_kept_and_a_late_one_reads_the_past_first() -> None:
    log = ChangeLog(1)
    log.publish([change(2)], 2)

    assert log.holds(log.open("/r/", 2))
    assert not log.holds(log.open("/r/", 1))


def test_a_watch_that_lags_by_too_many_bytes_must_read_the_past() -> None:
    log = ChangeLog(1, bytes_max=10_000)
    slow, quick = log.open("/r/", 1), log.open("/r/", 1)
    for revision in range(2, 30):
        log.publish([change(revision, size=1_000)], revision)
        log.take(quick)

    assert log.holds(quick)
    assert not log.holds(slow)


async def test_a_lagging_watch_reads_the_past_then_the_log_without_a_gap() -> None:
    log = ChangeLog(1, bytes_max=5_000)
    history = [change(revision, size=1_000) for revision in range(2, 12)]
    position = log.open("/r/", 1)
    for item in history:
        log.publish([item], item.revision)

    async def read_past(position: Position) -> ChangeBatch:
        following = next(item for item in history if item.revision > position.after)
        return ChangeBatch((following,), following.revision)

    watch = LogWatch(log, position, read_past)
    found: list[Change] = []
    while len(found) < 10:
        found += (await anext(watch)).changes

    assert found == history
    assert repr(watch) == "<LogWatch of /r/ after 11>"


def test_progress_is_sent_once_per_request_and_not_before_a_watch_from_the_future() -> None:
    log = ChangeLog(5)
    present, future = log.open("/r/", 5), log.open("/r/", 9)

    log.request_progress()

    assert log.take(present) == ChangeBatch((), 5)
    assert log.take(present) is None
    assert log.take(future) is None


def test_a_busy_log_is_read_in_batches() -> None:
    log = ChangeLog(1)
    position = log.open("/r/", 1)
    log.publish([change(revision) for revision in range(2, 2502)], 2501)

    batches = [log.take(position) for _ in range(3)]

    assert [batch.revision for batch in batches if batch] == [1001, 2001, 2501]
