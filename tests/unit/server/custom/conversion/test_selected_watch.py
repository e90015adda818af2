"""What a watcher with selectors receives: what a list before and after would show."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from proreus.server.custom.conversion.selected_watch import SelectedEvents
from proreus.server.watch_cache.object import CachedObject

Step = tuple[str, bool | None]  # an object becomes matching, or not, or goes


def obj(name: str, revision: int, *, matches: bool) -> CachedObject:
    item = b'{"metadata":{"resourceVersion":"%d","name":"%b"}}' % (revision, name.encode())
    return CachedObject(
        name, revision, item, namespace="", name=name, labels={"in": str(matches)}, fields={}
    )


def is_in(found: CachedObject) -> bool:
    return found.labels["in"] == "True"


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from([True, False, None]))),
    st.integers(0, 10),
)
def test_a_client_that_follows_has_what_a_list_would_show(steps: list[Step], start: int) -> None:
    world: dict[str, CachedObject] = {}
    known: set[str] = set()
    selected = SelectedEvents(is_in)

    for revision, (name, matches) in enumerate(steps, start=1):
        before = world.pop(name, None)
        if matches is None:
            if before is None:
                continue
            change, now = "DELETED", before.at_revision(revision)
        else:
            change = "ADDED" if before is None else "MODIFIED"
            now = world[name] = obj(name, revision, matches=matches)
        if revision == start:  # the client comes back and goes on from the state before
            others = [one for one in world.values() if one is not now]
            selected = SelectedEvents(is_in, [*others, *([before] if before else [])])
        event = selected.event(change, now)
        if event is not None:
            kind, sent = event
            assert sent.revision == revision
            assert (name in known) == (kind != "ADDED")
            known = known - {name} if kind == "DELETED" else known | {name}

        assert known == {name for name, one in world.items() if is_in(one)}


def test_what_leaves_is_sent_as_it_last_matched() -> None:
    selected = SelectedEvents(is_in, [obj("a", 1, matches=True)])

    event = selected.event("MODIFIED", obj("a", 2, matches=False))

    assert event is not None
    assert (event[0], event[1].revision, event[1].labels) == ("DELETED", 2, {"in": "True"})
