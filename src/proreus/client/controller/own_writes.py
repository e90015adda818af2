"""Read-your-writes over informer caches: a reconcile waits until they show the writes of its key.

Instead of counting expected creations and deletions, every write leaves the resource version it
became, and the next reconcile of its key waits until the informer has that version. A deletion
has no such version, so what was deleted can be left out of the cache's answers until the cache
agrees. A write whose answer was lost may have been done or not: then the informer must first show
all that the server has.
Clients report their writes by themselves (``client.write_log``); only what an informer of the
controller is certain to see counts.
Memory: one entry per key written to, until its next reconcile or ``forget``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from proreus.api.group_version import GroupResource
from proreus.api.object import KubeObject
from proreus.client.informer import SharedInformer

_NOTED_MAX = 20


@dataclass(slots=True)
class _Pending:
    """What was written for a key and may not be in the caches yet."""

    versions: dict[SharedInformer, int] = field(default_factory=dict)
    deleted: dict[str, tuple[SharedInformer, str]] = field(default_factory=dict)  # by uid
    uncertain: set[SharedInformer] = field(default_factory=set)


class NotedWrite(NamedTuple):
    """For people who ask what a reconcile did. ``version``: the resource version it became."""

    verb: str
    resource: GroupResource
    key: str
    version: str = ""


class OwnWrites:
    """The writes of one controller, by the key they were made for."""

    def __init__(self) -> None:
        self._informers: dict[GroupResource, list[SharedInformer]] = {}
        self._pending: dict[str, _Pending] = {}

    def follow(self, informers: Iterable[SharedInformer]) -> None:
        """Writes to what these informers hold will be waited for."""
        for informer in informers:
            known = self._informers.setdefault(informer.resource, [])
            if informer not in known:
                known.append(informer)

    def of(self, key: str) -> KeyWrites:
        """The observer of the writes that are made for a key."""
        return KeyWrites(self, key)

    async def wait_observed(self, key: str) -> None:
        """Raises ``Timeout`` if an informer does not catch up, and what its server answers."""
        pending = self._pending.get(key)
        if pending is None:
            return
        for informer in list(pending.uncertain):
            await informer.wait_current()
            pending.uncertain.discard(informer)
        for informer, version in list(pending.versions.items()):
            await informer.lister.wait_for_version(version)
            if pending.versions.get(informer) == version:
                del pending.versions[informer]
        for uid, (informer, deleted) in list(pending.deleted.items()):
            known = informer.indexer.get(deleted)
            if known is None or known.uid != uid or known.metadata.deletionTimestamp:
                del pending.deleted[uid]
        if not (pending.uncertain or pending.versions or pending.deleted):
            self._pending.pop(key, None)

    def has_deleted(self, key: str) -> bool:
        """Whether something was deleted for the key that the cache may still have."""
        pending = self._pending.get(key)
        return pending is not None and bool(pending.deleted)

    def without_deleted(self, key: str, found: Iterable[KubeObject]) -> list[KubeObject]:
        """``found`` without what was deleted for the key, where the cache is behind."""
        pending = self._pending.get(key)
        if pending is None or not pending.deleted:
            return list(found)
        return [
            one for one in found if one.uid not in pending.deleted or one.metadata.deletionTimestamp
        ]

    def forget(self, key: str) -> None:
        self._pending.pop(key, None)

    def informers_of(self, resource: GroupResource) -> list[SharedInformer]:
        return self._informers.get(resource, [])

    def pending(self, key: str) -> _Pending:
        return self._pending.setdefault(key, _Pending())

    def __repr__(self) -> str:
        return f"<OwnWrites for {len(self._pending)} keys>"


@dataclass(frozen=True, slots=True)
class KeyWrites:
    """A ``write_log.WriteObserver`` for one key. ``noted``: the first writes of a reconcile."""

    writes: OwnWrites
    key: str
    noted: list[NotedWrite] = field(default_factory=list)

    def wrote(self, resource: GroupResource, written: KubeObject, verb: str) -> None:
        self._note(NotedWrite(verb, resource, written.key, written.resource_version))
        if not written.resource_version.isdecimal():
            return
        version = int(written.resource_version)
        for informer in self.writes.informers_of(resource):
            if informer.includes(written):
                versions = self.writes.pending(self.key).versions
                versions[informer] = max(version, versions.get(informer, 0))

    def _note(self, write: NotedWrite) -> None:
        if len(self.noted) < _NOTED_MAX:
            self.noted.append(write)

    def deleted(self, resource: GroupResource, key: str, uid: str) -> None:
        self._note(NotedWrite("delete", resource, key))
        for informer in self.writes.informers_of(resource):
            self.writes.pending(self.key).deleted[uid] = (informer, key)

    def lost(self, resource: GroupResource) -> None:
        for informer in self.writes.informers_of(resource):
            self.writes.pending(self.key).uncertain.add(informer)
