"""Guarantee: bookmarkable. A bookmark never runs ahead of what was delivered."""

from __future__ import annotations

from tests.guarantees.story import Pass, Step, Store, Story, for_all_stories

# Time for bookmarks, with or without anything having happened.
_MINUTES: list[Step] = [Pass(61.0), Pass(61.0)]


def test_everything_up_to_a_bookmark_was_sent_before_it(store: Store) -> None:
    def check(story: Story) -> None:
        for stream, expected in story.expectations():
            received = 0
            for event in stream.later:
                if event.type != "BOOKMARK":
                    received += 1
                    continue
                owed = [change for change in expected if change.revision <= event.revision]
                assert received >= len(owed), f"{event} came before {owed[received:]}"

    for_all_stories(store, check, ending=_MINUTES)


def test_the_initial_events_end_once_after_all_of_them(store: Store) -> None:
    def check(story: Story) -> None:
        for stream in story.streams:
            marks = [at for at, event in enumerate(stream.events) if event.is_initial_end]
            if stream.after is not None:
                assert marks == []
            elif not stream.watch.is_closed():
                assert marks == [len(stream.initial)], stream

    for_all_stories(store, check, ending=_MINUTES)


def test_an_open_stream_is_marked_once_the_revision_has_moved(store: Store) -> None:
    def check(story: Story) -> None:
        for stream in story.streams:
            after = stream.began_after
            if stream.watch.is_closed() or stream.has_stopped or after is None:
                continue
            marks = [
                e.revision for e in stream.later if e.type == "BOOKMARK" and not e.is_initial_end
            ]
            if story.current > after:
                assert marks and marks[-1] == story.current, stream
            else:
                assert marks == [], stream

    for_all_stories(store, check, ending=_MINUTES)
