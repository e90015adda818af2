"""Which keys a change concerns: notification of any informer → keys of the primary resource.

Receives: Notification, from ``informer.handler``.  Hands on: keys, to ``workqueue``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeAlias

from proreus.api.object import KubeObject
from proreus.api.object_type import Object
from proreus.client.controller.predicates import Predicate
from proreus.client.informer import Notification, SharedInformer
from proreus.client.user_code import UserCode

KeysOf: TypeAlias = Callable[[Object], Iterable[str]]


def own_key(obj: KubeObject) -> tuple[str, ...]:
    """An object of the primary resource concerns itself."""
    return (obj.key,)


@dataclass(frozen=True, slots=True)
class Watch(Generic[Object]):
    """Changes of ``informer``'s objects, as far as ``when`` lets them through, concern the primary
    keys that ``keys`` names. Of an update both states are asked, since it may move an object from
    one owner to another.

    A ``when`` that raises is logged and lets the change through: one reconcile too many does no
    harm, a change that is not noticed does. A ``keys`` that raises for one state is logged too;
    the keys of the other state still count. Keys of a higher ``priority`` are worked on first.
    ``among``: the objects whose keys these can be; while there are none, nothing is asked. All
    controllers of a cluster are told of every event of a pod, most of them in vain.
    """

    informer: SharedInformer[Object]
    keys: KeysOf[Object] = own_key
    when: Predicate[Object] | None = None
    priority: int = 0
    among: Mapping[str, KubeObject] | None = None
    _predicate: UserCode = field(default_factory=lambda: UserCode("predicate"), init=False)
    _mapping: UserCode = field(default_factory=lambda: UserCode("keys of a watch"), init=False)

    def keys_of(self, notification: Notification[Any]) -> Sequence[str]:
        old, new = notification.old, notification.new
        try:
            if self.when is not None and not self.when(notification):
                return ()
            before = tuple(self.keys(old)) if old is not None else ()
            now = tuple(self.keys(new)) if new is not None else ()
        except (Exception, asyncio.CancelledError):
            return self._keys_despite_failures(notification)
        if before == now or not now:
            return before
        return tuple(dict.fromkeys((*before, *now))) if before else now

    def _keys_despite_failures(self, notification: Notification[Any]) -> Sequence[str]:
        """Asked again one by one, each with a log of its own."""
        if not self._predicate.call(True, self.when or _always, notification):
            return ()
        states = (one for one in (notification.old, notification.new) if one is not None)
        found = [key for one in states for key in self._mapping.call([], self._keys_of_state, one)]
        return tuple(dict.fromkeys(found))

    def _keys_of_state(self, state: Any) -> list[str]:
        return list(self.keys(state))


def _always(_: Notification[Any]) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class OwnedWatch(Watch[Object]):
    """Changes of what objects control concern these."""

    def keys_of(self, notification: Notification[Any]) -> Sequence[str]:
        old, new = notification.old, notification.new
        if old is not None and new is not None and old.controller_uid == new.controller_uid:
            return tuple(self.keys(new))
        return Watch.keys_of(self, notification)


def owned_watch(informer: SharedInformer[Object], primary: SharedInformer) -> OwnedWatch[Object]:
    return OwnedWatch(informer, owner_keys(primary), among=primary.indexer.by_key)


def owner_keys(primary: SharedInformer) -> KeysOf:
    """The object that controls this one, if the primary informer knows it. Owners are compared by
    uid, so an owner that was deleted and made again under its name is not confused with itself;
    one that is not cached yet will be announced by its own event."""

    owners = primary.indexer.by_key

    def keys(obj: KubeObject) -> tuple[str, ...]:
        uid = obj.controller_uid
        if not uid:
            return ()
        name = obj.controller_name
        for key in (f"{obj.namespace}/{name}", name):
            owner = owners.get(key)
            if owner is not None and owner.uid == uid:
                return (key,)
        return ()

    return keys
