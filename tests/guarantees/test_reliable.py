"""Guarantee: reliable. No event that matches is missing between two delivered ones."""

from __future__ import annotations

from tests.guarantees.model import SELECTIONS
from tests.guarantees.story import Store, Story, for_all_stories


def test_every_stream_sends_every_change_that_matches(store: Store) -> None:
    def check(story: Story) -> None:
        for stream, expected in story.expectations():
            received = stream.changes
            assert received == expected[: len(received)], stream
            if not stream.watch.is_closed():
                assert received == expected, f"{stream} did not receive all of {expected}"

    for_all_stories(store, check)


def test_what_a_watcher_rebuilds_is_what_a_list_shows(store: Store) -> None:
    def check(story: Story) -> None:
        for stream in story.streams:
            if stream.after is None and stream.began_after is not None:
                seen = story.current if not stream.watch.is_closed() else stream.last_revision
                assert seen is not None
                things = story.model.state(seen, stream.select.wants)
                assert stream.rebuilt() == {thing.key: thing.revision for thing in things}, stream
        for number, select in enumerate(SELECTIONS):
            things = story.model.state(story.current, select.wants)
            assert story.listed[number] == [f"{thing.key} {thing.revision}" for thing in things]

    for_all_stories(store, check)


def test_the_initial_state_is_the_state_at_its_mark_in_key_order(store: Store) -> None:
    def check(story: Story) -> None:
        for stream in story.streams:
            if stream.after is None and stream.began_after is not None:
                things = story.model.state(stream.began_after, stream.select.wants)
                assert [(e.type, e.key, e.revision) for e in stream.initial] == [
                    ("ADDED", thing.key, thing.revision) for thing in things
                ]

    for_all_stories(store, check)
