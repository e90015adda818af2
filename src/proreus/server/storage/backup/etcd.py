"""An etcd as a source: all objects as they were where history begins, and every change since.

Servers may write meanwhile: everything is read at revisions that were there at the beginning.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

from proreus.aio.clock import Clock
from proreus.net.private_files import replacing
from proreus.server.storage.backup.extent import Copied, Extent, Progress
from proreus.server.storage.backup.file import CopiedRow, NewLog, verified
from proreus.server.storage.backup.folder import check_target
from proreus.server.storage.etcd import EtcdConfig, EtcdStorage, copying
from proreus.server.storage.etcd.client import EtcdClient
from proreus.server.storage.interface import Change, Compacted, Storage
from proreus.server.storage.progress import asking_for_progress
from proreus.server.storage.sqlite import checksums
from proreus.server.storage.sqlite.rows import Row

_PAGE = 1_000


async def back_up_etcd(
    config: EtcdConfig, target: Path, clock: Clock, progress: Progress
) -> Copied:
    """Raises StorageError, OSError; ``target`` is then as it was."""
    check_target(target, None)
    async with (
        EtcdStorage.open(config, clock) as storage,
        EtcdClient.open(config, clock) as client,
    ):
        oldest = 1
        while True:
            try:
                newest = await storage.current_revision()
                begin = max(oldest, storage.compacted_revision)
                extent = Extent(
                    newest, await _distinct_since(storage, config, clock, begin, newest)
                )
                expires = await copying.expiries(client, newest, clock.now())
                with replacing(target) as partial:
                    copy = _Copy(storage, config.root, clock, extent, expires, progress)
                    made = await copy.write(partial, target)
                    verified(partial, target, made)
                return made
            except Compacted as gone:
                # Servers forget history every few minutes, and here faster than it was read.
                oldest = max(oldest, gone.compacted)


async def _distinct_since(
    storage: Storage, config: EtcdConfig, clock: Clock, begin: int, newest: int
) -> int:
    """From where on each change has a revision of its own.

    A lease that ends takes all its keys in one transaction. A backup has one change per revision:
    its history begins behind the last of these.
    """
    last, shared = 0, begin
    async for change in _changes(storage, config.root, clock, begin, newest):
        if change.revision == last:
            shared = last
        last = change.revision
    return shared


async def _changes(
    storage: Storage, root: str, clock: Clock, after: int, newest: int
) -> AsyncIterator[Change]:
    """Raises Compacted."""
    if after >= newest:
        return
    async with (
        storage.watch(root, after=after) as batches,
        asking_for_progress(storage, clock),  # the newest write may be no object's
    ):
        async for batch in batches:
            for change in batch.changes:
                if change.revision <= newest:
                    yield change
            if batch.revision >= newest:
                return


class _Copy:
    """One attempt to read everything of an extent."""

    def __init__(
        self,
        storage: Storage,
        root: str,
        clock: Clock,
        extent: Extent,
        expires: dict[int, float],
        progress: Progress,
    ) -> None:
        self._storage = storage
        self._root = root
        self._clock = clock
        self._extent = extent
        self._expires = expires
        self._progress = progress
        self._objects = 0

    async def write(self, partial: Path, target: Path) -> Copied:
        newest, begin = self._extent.revision, self._extent.compacted
        # As SQLite says it: 0 if nothing was ever forgotten.
        extent = Extent(newest, begin if begin > 1 else 0)
        with NewLog(partial, target) as made:
            await self._write_begin(made, begin)
            async for change in _changes(self._storage, self._root, self._clock, begin, newest):
                old, new = change.old, change.new
                self._objects += (new is not None) - (old is not None)
                replaced = old.revision if old is not None else 0
                value = new.value if new is not None else None
                made.add(self._row(change.revision, change.key, replaced, value))
                self._progress((change.revision - begin) / (newest - begin))
            made.finish(extent)
        return Copied(extent, self._objects)

    async def _write_begin(self, made: NewLog, begin: int) -> None:
        start = self._root
        while True:
            page = await self._storage.list(self._root, start=start, limit=_PAGE, revision=begin)
            for item in page.items:
                made.add(self._row(item.revision, item.key, 0, item.value))
            self._objects += len(page.items)
            self._progress(self._objects / max(1, self._objects + page.remaining))
            if not page.has_more:
                return
            start = page.items[-1].key + "\0"

    def _row(self, revision: int, key: str, replaced: int, value: bytes | None) -> CopiedRow:
        row = Row(revision, key, replaced, self._expires.get(revision), value)
        return CopiedRow(row, checksums.of_row(*row))
