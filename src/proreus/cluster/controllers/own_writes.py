"""Reading one's own writes: a key is attended to only when the caches show what was done for it.

Instead of counting expected creations and deletions, every write leaves the resource version it
became, and the next look at its key waits for the informer to have seen that version. A deletion
has no such version, so what was deleted is left out of the cache's answers until the cache agrees.
A write whose answer was lost may have been done or not: then the key is in doubt, and its owner
looks at the server itself before it acts again.
Memory: one entry per key written to, until ``forget``.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable

from proreus.api.object import KubeObject
from proreus.api.status import ApiError, Conflict
from proreus.client.controller import Reconcile, Request, Result
from proreus.client.informer import SharedInformer
from proreus.cluster.controllers.ownership import (
    OwnerGone,
    is_deleting,
    is_namespace_terminating,
)

log = logging.getLogger(__name__)

Sync = Callable[[KubeObject], Awaitable[Result | None]]
Gone = Callable[[str], None]


class OwnWrites:
    """What was written on behalf of each key and may not be in the caches yet."""

    def __init__(self) -> None:
        self._versions: dict[str, dict[SharedInformer, int]] = {}
        self._deleted: dict[str, set[str]] = {}
        self._doubted: set[str] = set()

    def doubt(self, key: str) -> None:
        """Nobody knows whether a write for the key was done."""
        self._doubted.add(key)

    def is_doubted(self, key: str) -> bool:
        return key in self._doubted

    def settle(
        self,
        key: str,
        informer: SharedInformer,
        live: Iterable[KubeObject],
        cached: Iterable[KubeObject],
    ) -> None:
        """The doubt ends with what the server shows: the cache must show it too, and what it does
        not show is gone."""
        there = set[str]()
        for obj in live:
            self.wrote(key, informer, obj)
            there.add(obj.uid)
        for obj in cached:
            if obj.uid not in there:
                self.deleted(key, obj)
        self._doubted.discard(key)

    def wrote(self, key: str, informer: SharedInformer, written: KubeObject) -> None:
        version = written.resource_version
        if version.isdecimal():
            versions = self._versions.setdefault(key, {})
            versions[informer] = max(int(version), versions.get(informer, 0))

    def deleted(self, key: str, obj: KubeObject) -> None:
        self._deleted.setdefault(key, set()).add(obj.uid)

    async def wait_seen(self, key: str) -> None:
        """Raises ``Timeout`` if an informer does not catch up."""
        for informer, version in list(self._versions.get(key, {}).items()):
            await informer.lister.wait_for_version(version)
        self._versions.pop(key, None)

    def remaining(self, key: str, found: Iterable[KubeObject]) -> list[KubeObject]:
        """``found`` without what was deleted for the key and still looks untouched."""
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
        self._doubted.discard(key)

    def __repr__(self) -> str:
        return f"<OwnWrites for {len(self._versions)} keys>"


def reconciling(
    primary: SharedInformer, writes: OwnWrites, sync: Sync, gone: Gone | None = None
) -> Reconcile:
    """``sync`` as the function of a Controller: called with a state as new as the own writes.

    A Conflict is no failure. Somebody wrote what the cache does not show yet; that version is on
    its way, and its event brings the key back.
    """

    async def reconcile(request: Request) -> Result | None:
        await writes.wait_seen(request.key)
        obj = primary.indexer.get(request.key)
        if obj is None:
            writes.forget(request.key)
            if gone is not None:
                gone(request.key)
            return None
        try:
            return await sync(obj)
        except (Conflict, OwnerGone) as stale:
            log.debug("cache was stale: key=%s reason=%s", request.key, stale)
            return None
        except ApiError as refused:
            if is_namespace_terminating(refused):
                return None
            raise

    return reconcile
