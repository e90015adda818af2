"""An etcd as a target: every write of a backup is made again, at the revision it had.

An object's resource version is the revision that etcd gave to its last write, and etcd counts its
transactions: nothing sets a revision. So the writes that the backup has are made in their order,
and as many others in between as there were writes that it has not. That costs one transaction per
revision. The others may be made in any order, many at a time; those of the backup wait for each
other, so that objects cost ten times as much as revisions that are only passed.

An etcd that has counted further than the first write of the backup cannot keep its revisions. Then
the objects are written anew and history begins behind them, so that every client lists again.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from proreus.aio.clock import Clock
from proreus.server.storage.backup.extent import Copied, Progress
from proreus.server.storage.backup.file import SavedLog
from proreus.server.storage.backup.folder import StoreNotEmpty
from proreus.server.storage.etcd import EtcdConfig, EtcdStorage, copying
from proreus.server.storage.etcd.client import EtcdClient
from proreus.server.storage.interface import StorageCorrupt, StorageError, Unavailable
from proreus.server.storage.sqlite.rows import Row

_IN_FLIGHT = 50
_PATIENCE_S = 60.0
# Times to live are rounded up to share a lease: etcd pays for each.
_LEASE_S = 60.0


async def restore_etcd(
    backup: Path,
    config: EtcdConfig,
    clock: Clock,
    *,
    overwrite: bool,
    skipped: int,
    progress: Progress,
) -> Copied:
    """See ``folder.restore_folder``. If it fails in between, a part of the backup is in etcd."""
    with SavedLog.open(backup) as source:
        found = source.verify(lambda _share: None)
        if found.damaged:
            raise StorageCorrupt(f"{backup} has damaged values: {', '.join(found.damaged[:10])}")
        # A write that is given up and repeated would take two revisions.
        config = replace(config, attempt_timeout_s=_PATIENCE_S, request_timeout_s=_PATIENCE_S)
        async with (
            EtcdStorage.open(config, clock) as storage,
            EtcdClient.open(config, clock) as client,
        ):
            target = _Target(storage, client, clock, progress)
            revision = await storage.current_revision()
            first = next(target.rows(source), None)
            keeps = not skipped and (first is None or revision < first.revision)
            if await storage.count(config.root) or not keeps:
                await target.check_may_replace(overwrite, skipped)
                return await target.restore_anew(source, found, revision, skipped)
            return await target.restore(source, found, revision)


class _Target:
    def __init__(
        self, storage: EtcdStorage, client: EtcdClient, clock: Clock, progress: Progress
    ) -> None:
        self._storage = storage
        self._client = client
        self._clock = clock
        self._progress = progress
        self._root = client.config.root
        self._name = f"etcd at {','.join(client.config.endpoints)}"

    async def check_may_replace(self, overwrite: bool, skipped: int) -> None:
        if overwrite:
            return
        if await self._storage.count(self._root):
            raise StoreNotEmpty(f"{self._name} has objects")
        if not skipped:
            raise Unavailable(
                f"{self._name} was written to before and cannot give these revisions any more: "
                f"take a new one, or let every client list again with --force"
            )

    def rows(self, source: SavedLog) -> Iterator[Row]:
        """Those of objects; all others only took a revision."""
        for row, _ in source.rows(self._progress):
            if row.key.startswith(self._root):
                yield row

    async def restore(self, source: SavedLog, found: Copied, revision: int) -> Copied:
        """Every write at its revision; ``revision`` is etcd's before the first."""
        live: set[str] = set()
        for row in self.rows(source):
            await self._pass_until(row.revision - 1, revision)
            revision = await self._write(row, is_there=row.key in live)
            if revision != row.revision:
                raise self._disturbed(row.revision, revision)
            (live.discard if row.value is None else live.add)(row.key)
        await self._pass_until(found.extent.revision, revision)
        reached = await self._storage.current_revision()
        if reached != found.extent.revision:
            raise self._disturbed(found.extent.revision, reached)
        if found.extent.compacted:
            await copying.begin_history(self._client, found.extent.compacted)
        return found

    async def restore_anew(
        self, source: SavedLog, found: Copied, revision: int, skipped: int
    ) -> Copied:
        """The newest values, in the place of what is there; nobody resumes from before."""
        await copying.remove_all(self._client)
        live = source.live
        left = (row for row in self.rows(source) if row.revision in live)

        async def write_some() -> None:
            for row in left:
                await self._write(row, is_there=False)

        async with asyncio.TaskGroup() as writers:
            for _ in range(_IN_FLIGHT):
                writers.create_task(write_some())
        now = await self._storage.current_revision()
        extent = found.extent.behind(max(now, found.extent.revision + skipped - 1))
        await self._pass_until(extent.revision, now)
        await copying.begin_history(self._client, extent.revision)
        return Copied(extent, found.objects, is_resumable=False)

    async def _write(self, row: Row, *, is_there: bool) -> int:
        if row.value is None:
            return await self._storage.delete(row.key, expected=row.replaced)
        ttl_s = None
        if row.expires is not None:
            left_s = max(1.0, row.expires - self._clock.now())
            ttl_s = math.ceil(left_s / _LEASE_S) * _LEASE_S
        if is_there:
            return await self._storage.update(
                row.key, row.value, expected=row.replaced, ttl_s=ttl_s
            )
        return await self._storage.create(row.key, row.value, ttl_s=ttl_s)

    async def _pass_until(self, revision: int, now: int) -> None:
        if now < revision:
            await copying.take_revisions(self._client, revision - now)

    def _disturbed(self, wanted: int, got: int) -> StorageError:
        return Unavailable(
            f"{self._name} gave revision {got} where {wanted} was due: another program writes to "
            f"it, or a write was repeated. It has a part of the backup now: end that program, and "
            f"begin with a new etcd"
        )
