"""Which changes are worth a reconcile: predicates for ``when``. Pure.

    Watch(informer, when=any_of(generation_changed, annotations_changed))

Objects that come and go, and resyncs that were asked for, pass every predicate here that is named
after what changed. They compare contents, because one update may stand for several that were
missed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from proreus.api.json_types import JsonObject
from proreus.api.object import KubeObject
from proreus.api.object_type import Object
from proreus.client.informer import Notification

Predicate: TypeAlias = Callable[[Notification[Object]], bool]


def changes_of(read: Callable[[KubeObject], Any]) -> Predicate:
    """True if an update changed what ``read`` finds."""

    def has_changed(notification: Notification) -> bool:
        old, new = notification.old, notification.new
        if old is None or new is None or notification.is_resync:
            return True
        return bool(read(old) != read(new))

    return has_changed


def _desired(obj: KubeObject) -> JsonObject:
    content = obj.to_dict()
    content.pop("status", None)
    for name in ("resourceVersion", "managedFields", "generation"):
        (content.get("metadata") or {}).pop(name, None)
    return content


def _generation(obj: KubeObject) -> tuple[str, int | None, bool]:
    # An object made again under its name begins to count again.
    return obj.uid, obj.metadata.generation, bool(obj.metadata.deletionTimestamp)


changed_beside_status = changes_of(_desired)
"""False for an update in which nothing but the status changed."""

generation_changed = changes_of(_generation)
"""False for an update that left the spec as it was. A deletion that began passes. Only for kinds
whose generation the server counts: custom resources with a status subresource, and workloads."""

labels_changed = changes_of(lambda obj: dict(obj.labels))
annotations_changed = changes_of(lambda obj: dict(obj.annotations))


def deletion(notification: Notification) -> bool:
    """True if the object is gone, or its deletion has just begun."""
    old, new = notification.old, notification.new
    if new is None:
        return True
    was_deleting = old is not None and bool(old.metadata.deletionTimestamp)
    return bool(new.metadata.deletionTimestamp) and not was_deleting


def all_of(*predicates: Predicate) -> Predicate:
    return lambda notification: all(one(notification) for one in predicates)


def any_of(*predicates: Predicate) -> Predicate:
    return lambda notification: any(one(notification) for one in predicates)


def negated(predicate: Predicate) -> Predicate:
    return lambda notification: not predicate(notification)
