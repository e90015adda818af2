"""What a watch makes of etcd's responses, without an etcd."""

from __future__ import annotations

from typing import Any

import pytest

from proreus.server.storage.etcd import messages
from proreus.server.storage.etcd.watch import EtcdWatch, marker
from proreus.server.storage.interface import (
    Change,
    ChangeBatch,
    Compacted,
    StoredValue,
    Unavailable,
)


def watch(after: int = 10, *, with_old: bool = True, trusts_progress: bool = True) -> EtcdWatch:
    return EtcdWatch(
        None, "/registry/pods/", after, with_old=with_old, trusts_progress=trusts_progress
    )


def response(*events: tuple[str, int], header: int = 0, **fields: Any) -> Any:
    """Events are creations of (name, revision)."""
    answer = messages.WatchResponse(**fields)
    answer.header.revision = header
    for name, revision in events:
        kv = answer.events.add().kv
        kv.key, kv.value = f"/registry/{name}".encode(), b"x"
        kv.create_revision = kv.mod_revision = revision
    return answer


def created(name: str, revision: int) -> Change:
    key = f"/registry/{name}"
    return Change(revision, key, None, StoredValue(key, b"x", revision))


def test_a_batch_reaches_to_its_last_event_never_to_the_header() -> None:
    batch = watch().take(response(("pods/a", 11), ("pods/b", 12), header=400))

    assert batch == ChangeBatch((created("pods/a", 11), created("pods/b", 12)), 12)


def test_fragments_are_put_together() -> None:
    opened = watch()

    assert opened.take(response(("pods/a", 11), header=20, fragment=True)) is None
    assert opened.take(response(("pods/b", 11), header=20, fragment=True)) is None
    batch = opened.take(response(("pods/c", 11), header=20))

    assert batch is not None
    assert [change.key[-1] for change in batch.changes] == ["a", "b", "c"]
    assert batch.revision == 11


def test_progress_is_taken_where_it_can_be_trusted() -> None:
    assert watch().take(response(header=30, watch_id=-1)) == ChangeBatch((), 30)
    assert watch(trusts_progress=False).take(response(header=30, watch_id=-1)) is None


def test_progress_between_fragments_promises_nothing() -> None:
    opened = watch()
    opened.take(response(("pods/a", 11), fragment=True))

    assert opened.take(response(header=30, watch_id=-1)) is None


def test_progress_behind_a_watch_from_the_future_says_nothing() -> None:
    assert watch(after=50).take(response(header=30, watch_id=-1)) is None


def test_the_answer_to_creation_is_no_progress() -> None:
    assert watch().take(response(header=30, created=True)) is None


def test_a_marker_is_progress_and_no_change() -> None:
    opened = watch(trusts_progress=False)
    name = marker("/registry/").removeprefix("/registry/")

    assert opened.take(response(("secrets/a", 11), header=20)) is None
    assert opened.take(response((name, 12), header=20)) == ChangeBatch((), 12)
    both = opened.take(response((name, 13), ("pods/a", 14), ("secrets/b", 15), header=20))
    assert both == ChangeBatch((created("pods/a", 14),), 15)


def test_a_compacted_watch_says_since_when() -> None:
    with pytest.raises(Compacted) as raised:
        watch().take(response(canceled=True, compact_revision=77))

    assert (raised.value.wanted, raised.value.compacted) == (10, 77)


def test_a_cancelled_watch_can_be_tried_again() -> None:
    with pytest.raises(Unavailable, match="etcdserver: no leader"):
        watch().take(response(canceled=True, cancel_reason="etcdserver: no leader"))


@pytest.mark.parametrize("kind", [0, messages.EVENT_DELETE])
def test_a_change_whose_past_was_compacted_is_not_sent_as_a_creation(kind: int) -> None:
    answer = response(("pods/a", 11))
    answer.events[0].type = kind
    answer.events[0].kv.create_revision = 5

    with pytest.raises(Compacted):
        watch().take(answer)


def test_a_watch_without_old_values_needs_no_past() -> None:
    answer = response(("pods/a", 11), ("pods/b", 12))
    answer.events[0].kv.create_revision = 5
    answer.events[1].type = messages.EVENT_DELETE

    batch = watch(with_old=False).take(answer)

    gone = Change(12, "/registry/pods/b", None, None)
    assert batch == ChangeBatch((created("pods/a", 11), gone), 12)


def test_a_deletion_has_the_value_that_was_there() -> None:
    answer = response(("pods/a", 11))
    event = answer.events[0]
    event.type = messages.EVENT_DELETE
    event.prev_kv.value, event.prev_kv.mod_revision = b"old", 7

    batch = watch().take(answer)

    old = StoredValue("/registry/pods/a", b"old", 7)
    assert batch == ChangeBatch((Change(11, "/registry/pods/a", old, None),), 11)
