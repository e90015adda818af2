"""Read-your-writes over informer caches: a reconcile waits until they show the writes of its key.

Instead of counting expected creations and deletions, every write leaves the resource version it
became, and the next reconcile of its key waits until the informer has that version. A deletion
has no such version, so what was deleted is left out of the cache's answers until the cache agrees.
A write whose answer was lost may have been done or not: then the key is uncertain, and the next
reconcile lists from the server before it acts.
Memory: one entry per key written to, until ``forget``.
"""

from __future__ import annotations

from collections.abc import Iterable

from proreus.api.object import KubeObject
from proreus.client.informer import SharedInformer
from proreus.cluster.pod_status import is_deleting


class OwnWrites:
    """What was written on behalf of each key and may not be in the caches yet."""

    def __init__(self) -> None:
        self._versions: dict[str, dict[SharedInformer, int]] = {}
        self._deleted: dict[str, set[str]] = {}
        self._uncertain: set[str] = set()

    def mark_uncertain(self, key: str) -> None:
        """A write for the key may have been done or not."""
        self._uncertain.add(key)

    def is_uncertain(self, key: str) -> bool:
        return key in self._uncertain

    def resolve(
        self,
        key: str,
        informer: SharedInformer,
        live: Iterable[KubeObject],
        cached: Iterable[KubeObject],
    ) -> None:
        """Take the server's list for the truth: the cache must come to show ``live``, and what of
        ``cached`` is not in it is deleted."""
        there = set[str]()
        for obj in live:
            self.wrote(key, informer, obj)
            there.add(obj.uid)
        for obj in cached:
            if obj.uid not in there:
                self.deleted(key, obj)
        self._uncertain.discard(key)

    def wrote(self, key: str, informer: SharedInformer, written: KubeObject) -> None:
        version = written.resource_version
        if version.isdecimal():
            versions = self._versions.setdefault(key, {})
            versions[informer] = max(int(version), versions.get(informer, 0))

    def deleted(self, key: str, obj: KubeObject) -> None:
        self._deleted.setdefault(key, set()).add(obj.uid)

    async def wait_observed(self, key: str) -> None:
        """Raises ``Timeout`` if an informer does not catch up."""
        for informer, version in list(self._versions.get(key, {}).items()):
            await informer.lister.wait_for_version(version)
        self._versions.pop(key, None)

    def without_deleted(self, key: str, found: Iterable[KubeObject]) -> list[KubeObject]:
        """``found`` without what was deleted for the key, where the cache is behind."""
        objects = list(found)
        deleted = self._deleted.get(key)
        if not deleted:
            return objects
        deleted &= {obj.uid for obj in objects if not is_deleting(obj)}
        if not deleted:
            del self._deleted[key]
        return [obj for obj in objects if obj.uid not in deleted]

    def forget(self, key: str) -> None:
        self._versions.pop(key, None)
        self._deleted.pop(key, None)
        self._uncertain.discard(key)

    def __repr__(self) -> str:
        return f"<OwnWrites for {len(self._versions)} keys>"
