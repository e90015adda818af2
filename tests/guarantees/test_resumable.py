"""Guarantee: resumable. From any delivered revision still in the window, else 410."""

from __future__ import annotations

from tests.guarantees.story import Store, Story, Stream, for_all_stories


def test_a_chain_of_resumed_streams_is_one_stream(store: Store) -> None:
    def check(story: Story) -> None:
        for stream in story.streams:
            chain = _chain(stream)
            after = chain[0].began_after
            if after is None:
                continue
            received = [change for part in chain for change in part.changes]
            expected = list(story.model.events(after, stream.select.wants))
            assert received == expected[: len(received)], chain
            if not stream.watch.is_closed():
                assert received == expected, chain

    for_all_stories(store, check)


def test_only_a_start_outside_the_window_is_refused_and_says_so(store: Store) -> None:
    def check(story: Story) -> None:
        for stream in story.streams:
            is_outside = stream.after is not None and stream.after < stream.window_from
            assert (stream.error is not None) == is_outside, stream
            if stream.error is not None:
                status = stream.error.object
                text = f"too old resource version: {stream.after} ({stream.window_from})"
                assert (status["code"], status["reason"], status["message"]) == (
                    410,
                    "Expired",
                    text,
                )
                assert len(stream.events) == 1
                assert stream.watch.is_closed()

    for_all_stories(store, check)


def _chain(stream: Stream) -> list[Stream]:
    chain = [stream]
    while chain[0].resumes is not None:
        chain.insert(0, chain[0].resumes)
    return chain
