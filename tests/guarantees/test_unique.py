"""Guarantee: unique. No event is delivered twice on one stream, or again after a resume."""

from __future__ import annotations

from tests.guarantees.story import Store, Story, for_all_stories


def test_no_event_comes_twice(store: Store) -> None:
    def check(story: Story) -> None:
        for stream in story.streams:
            revisions = [change.revision for change in stream.changes]
            assert len(revisions) == len(set(revisions)), stream
            keys = [event.key for event in stream.initial]
            assert len(keys) == len(set(keys)), stream
            if stream.began_after is not None:
                assert all(revision > stream.began_after for revision in revisions), stream

    for_all_stories(store, check)


def test_a_resumed_stream_repeats_nothing(store: Store) -> None:
    def check(story: Story) -> None:
        for stream in story.streams:
            seen, before = {change.revision for change in stream.changes}, stream.resumes
            while before is not None:
                known = {change.revision for change in before.changes}
                assert not seen & known, f"{stream} repeats {before}"
                before = before.resumes

    for_all_stories(store, check)
