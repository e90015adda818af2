"""Guarantee: ordered. The revisions of a stream never go back after the initial state."""

from __future__ import annotations

from itertools import pairwise

from tests.guarantees.story import Store, Story, for_all_stories


def test_revisions_never_go_back(store: Store) -> None:
    def check(story: Story) -> None:
        for stream in story.streams:
            revisions = [event.revision for event in stream.later]
            assert revisions == sorted(revisions), stream
            changes = [change.revision for change in stream.changes]
            assert all(one < next_one for one, next_one in pairwise(changes)), stream

    for_all_stories(store, check)


def test_all_watchers_see_the_same_order(store: Store) -> None:
    def check(story: Story) -> None:
        written = story.model.revisions
        for stream in story.streams:
            places = [written.index(change.revision) for change in stream.changes]
            assert places == sorted(places), stream

    for_all_stories(store, check)
