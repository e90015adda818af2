"""Which keys a change concerns: notification of any informer → keys of the primary resource.

Receives: Notification, from ``informer.handler``.  Hands on: keys, to ``workqueue``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

from proreus.api.object import KubeObject
from proreus.client.informer import Notification, SharedInformer

KeysOf: TypeAlias = Callable[[KubeObject], Iterable[str]]
Predicate: TypeAlias = Callable[[Notification], bool]


def own_key(obj: KubeObject) -> tuple[str, ...]:
    """An object of the primary resource concerns itself."""
    return (obj.key,)


@dataclass(frozen=True, slots=True)
class Watch:
    """Changes of ``informer``'s objects, as far as ``when`` lets them through, concern the primary
    keys that ``keys`` names. Of an update both states are asked, since it may move an object from
    one owner to another."""

    informer: SharedInformer
    keys: KeysOf = own_key
    when: Predicate | None = None

    def keys_of(self, notification: Notification) -> list[str]:
        if self.when is not None and not self.when(notification):
            return []
        states = (notification.old, notification.new)
        found = [key for state in states if state is not None for key in self.keys(state)]
        return list(dict.fromkeys(found))


def owner_keys(primary: SharedInformer) -> KeysOf:
    """The object that controls this one, if the primary informer knows it. Owners are told apart by
    uid, so an owner that was deleted and made again under its name is not confused with itself;
    one that is not cached yet will be announced by its own event."""

    def keys(obj: KubeObject) -> list[str]:
        for reference in (obj.metadata or {}).get("ownerReferences") or ():
            if not reference.get("controller"):
                continue
            for key in (f"{obj.namespace}/{reference['name']}", reference["name"]):
                owner = primary.indexer.get(key)
                if owner is not None and owner.uid == reference.get("uid"):
                    return [key]
        return []

    return keys


def changed_beside_status(notification: Notification) -> bool:
    """A predicate: False for an update in which nothing but the status changed. It compares
    contents, because one update may stand for several that were missed."""
    old, new = notification.old, notification.new
    if old is None or new is None or notification.is_resync:
        return True
    return _desired(old) != _desired(new)


_BOOKKEEPING = ("resourceVersion", "managedFields", "generation")


def _desired(obj: KubeObject) -> dict[str, Any]:
    content = obj.to_dict()
    content.pop("status", None)
    for field in _BOOKKEEPING:
        (content.get("metadata") or {}).pop(field, None)
    return content
