"""When a revision had arrived somewhere."""

from __future__ import annotations

from proreus.server.storage.revision_times import RevisionTimes


def test_a_revision_arrives_with_the_first_batch_that_reaches_it() -> None:
    times = RevisionTimes()
    times.record(10, 1.0)
    times.record(13, 2.0)

    assert [times.at(revision) for revision in (9, 10, 11, 13, 14)] == [1.0, 1.0, 2.0, 2.0, None]


def test_what_is_older_than_what_is_remembered_is_not_known() -> None:
    times = RevisionTimes(kept=2)
    for revision in range(1, 5):
        times.record(revision, float(revision))

    assert times.at(2) is None
    assert times.at(3) is None, "it may have arrived with one that was forgotten"
    assert times.at(4) == 4.0


def test_a_store_that_was_put_back_begins_anew() -> None:
    times = RevisionTimes()
    times.record(10, 1.0)
    times.record(5, 2.0)

    assert (times.at(5), times.at(10)) == (2.0, None)
