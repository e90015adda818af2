"""What must hold for every apply, whatever is applied by whom."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from proreus.api import status
from proreus.api.patch import field_sets, managed_fields, ownership
from proreus.api.patch.apply import ownership_update, server_side_apply
from proreus.api.patch.field_walk import compare, fields_of
from proreus.api.patch.ownership import Endpoint
from proreus.api.typed import ListType, Shape, TypeNode
from proreus.api.wire.json import encode
from tests.unit.api.patch.tracking import track_update

TEXT: TypeNode = TypeNode(Shape.STRING)
TEXTS = TypeNode(Shape.MAP, element=lambda: TEXT)
ITEM: TypeNode = TypeNode(
    Shape.OBJECT,
    properties=lambda: {"name": TEXT, "image": TEXT, "tags": SET, "items": ITEMS, "data": TEXTS},
)
ITEMS: TypeNode = TypeNode(
    Shape.LIST, element=lambda: ITEM, list_type=ListType.MAP, list_map_keys=("name",)
)
SET: TypeNode = TypeNode(Shape.LIST, element=lambda: TEXT, list_type=ListType.SET)
LIST = TypeNode(Shape.LIST, element=lambda: TEXT)
ROOT = TypeNode(
    Shape.OBJECT,
    properties=lambda: {
        "metadata": TypeNode(Shape.OBJECT, preserve_unknown=True, properties=dict),
        "data": TEXTS,
        "items": ITEMS,
        "tags": SET,
        "list": LIST,
        "flat": TypeNode(Shape.MAP, element=lambda: TEXT, atomic_map=True),
        "nested": TypeNode(Shape.OBJECT, properties=lambda: {"a": TEXT, "b": TEXTS, "c": LIST}),
    },
)

WORD = st.sampled_from("pqr")
DATA = st.dictionaries(st.sampled_from("xyz"), WORD, min_size=1, max_size=3)
TAGS = st.lists(WORD, min_size=1, max_size=3, unique=True)


def items(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    item = st.fixed_dictionaries(
        {"name": st.sampled_from("abc")},
        optional={"image": WORD, "tags": TAGS, "data": DATA, "items": inner},
    )
    return st.lists(item, min_size=1, max_size=3, unique_by=lambda i: str(i["name"]))


FIELDS: dict[Any, st.SearchStrategy[Any]] = {
    "data": DATA,
    "items": items(items(st.nothing())),
    "tags": TAGS,
    "list": st.lists(WORD, min_size=1, max_size=3),
    "flat": DATA,
    "nested": st.fixed_dictionaries(
        # Never empty: applying {} over one's own last field leaves null, as on a real server.
        {"a": WORD},
        optional={"b": DATA, "c": TAGS},
    ),
}
BODY = st.fixed_dictionaries({}, optional=FIELDS)


def apply(live: Any, body: Any, manager: str, *, force: bool = False, now: float = 5.0) -> Any:
    applied = {**body, "metadata": {"name": "a"}}
    return server_side_apply(
        live, applied, ROOT, manager=manager, force=force, now=now, api_version="v1"
    )


def update(live: Any, body: Any, manager: str) -> Any:
    metadata = dict((live or {"metadata": {"name": "a"}})["metadata"])
    new = {**body, "metadata": metadata}
    return track_update(live, new, ROOT, manager=manager, now=5.0, api_version="v1")


def fields_by(obj: Any, manager: str) -> field_sets.Tree:
    for key, owned in managed_fields.decode(managed_fields.entries_of(obj)).items():
        if key.name == manager:
            return owned.fields
    return {}


def conflicts(live: Any, body: Any, manager: str) -> set[str]:
    try:
        apply(live, body, manager)
    except status.Conflict as conflict:
        return {str(cause["field"]) for cause in conflict.causes}
    return set()


def holds(obj: Any, body: Any) -> bool:
    """Whether everything ``body`` sets is there."""
    change = compare(body, obj, ROOT)
    return not field_sets.intersection(
        fields_of(body, ROOT),
        field_sets.union(change.modified, change.removed),
    )


@settings(max_examples=60)
@given(BODY, BODY, BODY)
def test_applying_twice_is_applying_once(first: Any, second: Any, third: Any) -> None:
    live = apply(apply(None, first, "one"), second, "two", force=True)

    once = apply(live, third, "one", force=True)

    assert apply(once, third, "one", now=9.0) == once


@settings(max_examples=60)
@given(BODY, BODY)
def test_what_is_applied_with_force_is_there_and_owned(first: Any, second: Any) -> None:
    live = update(None, first, "maker")

    applied = apply(live, second, "one", force=True)

    assert holds(applied, second)
    wanted = fields_of(second, ROOT)
    assert fields_by(applied, "one") == wanted
    if live["metadata"].get("managedFields"):
        assert not conflicts(applied, second, "one")


@settings(max_examples=60)
@given(BODY, BODY)
def test_conflicts_are_symmetric(first: Any, second: Any) -> None:
    """One finds in the other's object the leaves that the other finds in the one's."""
    ours, theirs = apply(None, first, "one"), apply(None, second, "two")

    assert conflicts(ours, second, "two") == conflicts(theirs, first, "one")


@settings(max_examples=60)
@given(BODY, BODY)
def test_without_conflict_the_order_of_managers_does_not_matter_to_what_is_set(
    first: Any, second: Any
) -> None:
    live = apply(None, first, "one")
    if conflicts(live, second, "two"):
        return

    both = apply(live, second, "two")

    assert holds(both, first)
    assert holds(both, second)


@settings(max_examples=60)
@given(BODY, BODY, BODY)
def test_only_what_nobody_else_owns_is_removed(first: Any, second: Any, third: Any) -> None:
    live = apply(apply(None, first, "one"), second, "two", force=True)
    before = fields_by(live, "two")

    after = apply(live, third, "one", force=True)

    kept = fields_by(after, "two")
    assert not field_sets.difference(kept, before)
    lost = compare(live, after, ROOT).removed
    assert not field_sets.intersection(lost, kept)
    named = field_sets.with_named_fields(fields_of(third, ROOT), ROOT)
    assert not field_sets.intersection(fields_of(after, ROOT), _gone(live, named, before))


def _gone(live: Any, still: field_sets.Tree, others: field_sets.Tree) -> field_sets.Tree:
    """What one applied before, applies no longer, and two does not hold."""
    mine = fields_by(live, "one")
    held = field_sets.with_named_fields(others, ROOT)
    return field_sets.difference(field_sets.difference(mine, still), held)


@settings(max_examples=60)
@given(BODY, BODY)
def test_an_update_owns_exactly_what_it_changed(first: Any, second: Any) -> None:
    live = update(None, first, "one")
    if not managed_fields.entries_of(live):
        return

    after = update(live, second, "two")

    change = compare(first, second, ROOT)
    assert fields_by(after, "two") == field_sets.union(change.added, change.modified)
    for changed in (change.added, change.modified, change.removed):
        assert not field_sets.intersection(fields_by(after, "one"), changed)


@settings(max_examples=60)
@given(BODY)
def test_repeating_an_update_changes_nothing(body: Any) -> None:
    live = update(None, body, "one")

    assert update(live, body, "one") == live
    assert update(live, body, "two") == live


@settings(max_examples=60)
@given(BODY, BODY)
def test_giving_up_a_field_leaves_it_to_the_other_owner(first: Any, second: Any) -> None:
    live = apply(apply(None, first, "one"), first, "two")

    left = apply(live, {}, "one")

    assert holds(left, first)
    assert not fields_by(left, "one")


@settings(max_examples=150)
@given(BODY, BODY, BODY, st.sampled_from(("one", "two", "three")))
def test_owners_that_stay_are_those_the_long_way_finds(
    first: Any, second: Any, third: Any, writer: str
) -> None:
    live = apply(update(None, first, "one"), second, "two", force=True)
    live = update(live, {**live, **third}, "three")
    after = ownership.without_owners(_with_other_words(live))
    write = ownership_update(ROOT, "v1", "", 9.0, Endpoint())
    before = ownership.without_owners(live)
    before["metadata"]["resourceVersion"] = "7"  # which the writer leaves out
    owners = managed_fields.decode(managed_fields.entries_of(live), stored=True)
    change = write.change(before, after)

    found = write.taken(before, after, owners, writer, change)

    wanted = write.without_changed(owners, before, after, change)
    assert isinstance(found, dict), "there is but one version"
    assert isinstance(wanted, dict), "there is but one version"
    taken = field_sets.union(change.added, change.modified)
    updater = managed_fields.Owner(writer, managed_fields.UPDATE, "v1")
    fields = field_sets.difference(taken, managed_fields.UNTRACKED)
    if fields:
        own = wanted[updater].fields if updater in wanted else field_sets.EMPTY
        fields = field_sets.union(own, fields)
        wanted[updater] = managed_fields.Owned(fields, "v1", write.time)
    assert encode(managed_fields.encode(found)) == encode(managed_fields.encode(wanted))


def _with_other_words(value: Any) -> Any:
    """The same shape: every p has become a q, but for names and tags, which are paths."""
    if isinstance(value, dict):
        return {
            key: below if key in ("metadata", "name", "tags") else _with_other_words(below)
            for key, below in value.items()
        }
    if isinstance(value, list):
        return [_with_other_words(item) for item in value]
    return "q" if value == "p" else value
