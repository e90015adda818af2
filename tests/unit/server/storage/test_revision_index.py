"""The index of versions: compaction by steps, and rebuilding from a log."""

from __future__ import annotations

import hypothesis.strategies as st
from hypothesis import given

from proreus.server.storage.revision_index import KeyRevision, RevisionIndex, Span

STEPS = st.lists(st.tuples(st.sampled_from(["/a/x", "/a/y", "/b/x"]), st.booleans()), max_size=40)


def written(steps: list[tuple[str, bool]]) -> tuple[RevisionIndex, list[tuple[int, str, bool]]]:
    index, log = RevisionIndex(), []
    for revision, (key, wants_deletion) in enumerate(steps, start=2):
        is_deletion = wants_deletion and index.live(key) > 0
        if is_deletion:
            index.remove(key, revision)
        else:
            index.put(key, revision)
        log.append((revision, key, is_deletion))
    return index, log


def states(index: RevisionIndex, oldest: int, newest: int) -> list[Span]:
    return [index.at("/a/", "", 0, revision) for revision in range(oldest, newest + 1)]


@given(STEPS)
def test_an_index_rebuilt_from_the_log_reads_the_same(steps: list[tuple[str, bool]]) -> None:
    index, log = written(steps)

    rebuilt = RevisionIndex.replayed(log)

    assert states(rebuilt, 1, len(steps) + 2) == states(index, 1, len(steps) + 2)
    assert rebuilt.compact(10_000, 10_000) == index.compact(10_000, 10_000)


@given(STEPS, st.integers(1, 45), st.integers(1, 5))
def test_compaction_by_steps_changes_no_readable_state(
    steps: list[tuple[str, bool]], revision: int, limit: int
) -> None:
    index, log = written(steps)
    newest = len(steps) + 2
    before = states(index, revision, newest)

    dropped: set[int] = set()
    while found := index.compact(revision, limit):
        assert not dropped & set(found)
        dropped |= set(found)
        assert states(index, revision, newest) == before

    kept = [version for version in log if version[0] not in dropped]
    assert states(RevisionIndex.replayed(kept), revision, newest) == before
    oldest_of = {key: rev for rev, key, _ in reversed(kept)}
    assert sum(rev <= revision for rev, _, _ in kept) == sum(
        rev <= revision for rev in oldest_of.values()
    )


@given(STEPS, st.integers(1, 45), st.integers(1, 45))
def test_a_page_of_the_past_counts_what_followed_it(
    steps: list[tuple[str, bool]], compacted: int, revision: int
) -> None:
    index, _ = written(steps)
    revision = max(compacted, revision)
    index.compact(compacted, 10_000)

    whole = index.at("/a/", "", 0, revision).entries
    page = index.at("/a/", "", 1, revision)

    assert page == Span(whole[:1], len(whole[1:]))


def test_a_span_counts_what_follows_it() -> None:
    index, _ = written([("/a/x", False), ("/a/y", False), ("/b/x", False)])

    assert index.at("/a/", "", 1, None) == Span((KeyRevision("/a/x", 2),), 1)
    assert index.at("/a/", "/a/y", 1, None) == Span((KeyRevision("/a/y", 3),), 0)
    assert index.count("/a/") == 2
    assert repr(index) == "<RevisionIndex: 3 live keys, 0 with a past>"
