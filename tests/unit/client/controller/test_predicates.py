"""Which changes are worth a reconcile."""

from __future__ import annotations

from typing import Any

import pytest

from proreus.api.object import KubeObject
from proreus.client.controller import (
    Predicate,
    all_of,
    annotations_changed,
    any_of,
    changed_beside_status,
    deletion,
    generation_changed,
    labels_changed,
    negated,
)
from proreus.client.informer import ChangeType, Notification

GOING = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
EVERY = [changed_beside_status, generation_changed, labels_changed, annotations_changed]


def widget(version: int = 1, status: str = "", **metadata: Any) -> KubeObject:
    metadata = {
        "name": "a",
        "uid": "u",
        "generation": 1,
        "resourceVersion": str(version),
    } | metadata
    return KubeObject.from_dict({"metadata": metadata, "status": {"phase": status}})


def update(new: KubeObject, old: KubeObject | None = None) -> Notification:
    return Notification(ChangeType.UPDATE, old or widget(), new)


@pytest.mark.parametrize(
    ("change", "passing"),
    [
        (widget(2), []),
        (widget(2, "Ready"), []),
        (widget(2, generation=2), [generation_changed]),
        (widget(2, uid="v"), [changed_beside_status, generation_changed]),
        (widget(2, labels={"a": "b"}), [changed_beside_status, labels_changed]),
        (widget(2, annotations={"a": "b"}), [changed_beside_status, annotations_changed]),
        (widget(2, **GOING), [changed_beside_status, generation_changed]),
    ],
)
def test_an_update_passes_those_named_after_what_changed(
    change: KubeObject, passing: list[Predicate]
) -> None:
    assert [one for one in EVERY if one(update(change))] == passing


def test_what_comes_goes_or_was_asked_for_passes_all_of_them() -> None:
    added = Notification(ChangeType.ADD, None, widget())
    gone = Notification(ChangeType.DELETE, widget(), None)
    reminder = Notification(ChangeType.UPDATE, widget(), widget(), is_resync=True)

    assert all(one(each) for one in EVERY for each in (added, gone, reminder))


def test_a_deletion_passes_when_it_begins_and_when_it_ends() -> None:
    going = widget(2, **GOING)

    assert deletion(update(going))
    assert deletion(Notification(ChangeType.ADD, None, going))
    assert deletion(Notification(ChangeType.DELETE, going, None))
    assert not deletion(update(widget(3, **GOING), old=going))
    assert not deletion(update(widget(2, "Ready")))


def test_predicates_can_be_combined() -> None:
    both, either = all_of(labels_changed, annotations_changed), any_of(labels_changed, deletion)
    relabelled = update(widget(2, labels={"a": "b"}))

    assert not both(relabelled) and either(relabelled)
    assert both(update(widget(2, labels={"a": "b"}, annotations={"c": "d"})))
    assert negated(both)(relabelled) and not negated(either)(relabelled)
    assert all_of()(relabelled) and not any_of()(relabelled)
