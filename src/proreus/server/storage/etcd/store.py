"""Storage in etcd: revisions, transactions and watches are etcd's own.

Receives: writes, from ``resource_store``.  Hands on: Change, by ``watch``, to ``ingest``.
Invariant: the key layout is Kubernetes' (``/registry/…``), so that several servers share one etcd.
Nothing is kept here but leases, open watches and how far history was compacted.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any

from proreus.aio.clock import Clock
from proreus.aio.tasks import beside
from proreus.server.storage import keyspace
from proreus.server.storage.etcd import compaction, messages, probe
from proreus.server.storage.etcd.client import COMPACT, GRANT, PUT, RANGE, STATUS, TXN, EtcdClient
from proreus.server.storage.etcd.config import EtcdConfig
from proreus.server.storage.etcd.errors import RevisionCompacted, RevisionInFuture
from proreus.server.storage.etcd.leases import EtcdLeases
from proreus.server.storage.etcd.shared_reads import SharedReads
from proreus.server.storage.etcd.version import streams_ranges
from proreus.server.storage.etcd.watch import EtcdWatch, marker, open_watch, text
from proreus.server.storage.health import Health, HealthRecord
from proreus.server.storage.interface import (
    COMPACTION_S,
    ChangeBatch,
    Compacted,
    FutureRevision,
    InvalidKey,
    KeyExists,
    OldValue,
    Page,
    PastValue,
    RevisionConflict,
    StorageFull,
    StoredValue,
    Ttl,
)
from proreus.server.storage.progress import asking_for_progress

_PAGE_MAX = 500


class EtcdStorage:
    """See the module and ``interface``. Opened by ``open``."""

    def __init__(self, client: EtcdClient, clock: Clock, version: str) -> None:
        self._client = client
        self._clock = clock
        self._version = version
        # Tried only where the version has it; a member that has not is asked for pages.
        self._streams_ranges = streams_ranges(version)
        self._root = client.config.root
        self._marker = marker(self._root).encode()
        self._reads = SharedReads(client.call)
        self.current_revision = self._reads.revision
        self._leases = EtcdLeases(clock, self._grant)
        self._watches: set[EtcdWatch] = set()
        self._compacted = 0
        self._record = HealthRecord(f"etcd at {','.join(client.config.endpoints)}")
        self._seen = 0  # the newest revision of writes and lists; for ``repr`` only

    @classmethod
    @asynccontextmanager
    async def open(cls, config: EtcdConfig, clock: Clock) -> AsyncIterator[EtcdStorage]:
        """Raises Unavailable if no endpoint answers, AccessDenied."""
        async with EtcdClient.open(config, clock) as client:
            status = await client.call(STATUS, messages.StatusRequest())
            storage = cls(client, clock, status.version)
            # Who begins to read in the past must know how far back that goes.
            storage.learn_compacted(await compaction.agreed(client))
            async with beside(storage._reads.run(), name="etcd: reads", ended=lambda: None):
                yield storage

    async def create(self, key: str, value: bytes, *, ttl_s: Ttl = None) -> int:
        found = await self._put_if(self._checked(key), value, 0, ttl_s)
        if isinstance(found, int):
            return found
        current = _first(key, found)
        if current is None:  # it was there at the comparison; etcd reads in the same step
            raise AssertionError(f"{key} exists and is not there")
        raise KeyExists(current)

    async def update(
        self, key: str, value: bytes, *, expected: int, ttl_s: Ttl = None, replaced: OldValue = None
    ) -> int:
        checked = self._checked(key)
        if expected <= 0:  # etcd would take it for "absent"
            raise RevisionConflict(key, expected, await self.get(key))
        found = await self._put_if(checked, value, expected, ttl_s)
        if isinstance(found, int):
            return found
        raise RevisionConflict(key, expected, _first(key, found))

    async def delete(self, key: str, *, expected: int, replaced: OldValue = None) -> int:
        request = self._transaction(self._checked(key), expected)
        if expected <= 0:
            raise RevisionConflict(key, expected, await self.get(key))
        request.success.add().request_delete_range.key = key.encode()
        found = await self._commit(request)
        if isinstance(found, int):
            return found
        raise RevisionConflict(key, expected, _first(key, found))

    async def get(self, key: str, *, at_least: int = 0) -> StoredValue | None:
        newest = await self._reads.read(self._checked(key))
        if at_least > newest.revision:
            raise FutureRevision(at_least, newest.revision)
        kv = newest.kv
        return None if kv is None else StoredValue(key, kv.value, kv.mod_revision)

    def is_newest(self, key: str, revision: int) -> bool | None:
        return None  # another server may have written since

    async def list(
        self, prefix: str, *, start: str = "", limit: int = 0, revision: int = 0
    ) -> Page:
        self._check_prefix(prefix)
        items: list[StoredValue] = []
        at, key = revision, max(start, prefix).encode()
        while True:
            wanted = limit - len(items) if limit else 0
            try:
                answer = await self._range(key, prefix, limit=wanted, revision=at)
            except Compacted:
                if revision:
                    raise
                # A list of now took so long that its revision was compacted: start over.
                items, at, key = [], 0, max(start, prefix).encode()
                continue
            items += [StoredValue(text(kv.key), kv.value, kv.mod_revision) for kv in answer.kvs]
            at = at or answer.header.revision
            if not answer.more or (limit and len(items) >= limit):
                remaining = answer.count - len(answer.kvs)
                return Page(tuple(items), at, remaining > 0, remaining)
            key = answer.kvs[-1].key + b"\0"

    async def count(self, prefix: str) -> int:
        self._check_prefix(prefix)
        answer = await self._range(prefix.encode(), prefix, count_only=True)
        return int(answer.count)

    @asynccontextmanager
    async def watch(
        self, prefix: str, *, after: int, with_old: bool = True
    ) -> AsyncIterator[AsyncIterator[ChangeBatch]]:
        self._check_prefix(prefix)
        if after < self._compacted:
            raise Compacted(after, self._compacted)
        async with open_watch(self._client, self._clock, prefix, after, with_old) as watch:
            self._watches.add(watch)
            try:
                yield watch
            finally:
                self._watches.discard(watch)

    async def request_progress(self) -> None:
        for watch in self._watches:
            if watch.trusts_progress:
                watch.request_progress()
        if any(not watch.trusts_progress for watch in self._watches):
            await self._client.call(PUT, messages.PutRequest(key=self._marker))

    async def compact(self, revision: int) -> None:
        try:
            await self._client.call(COMPACT, messages.CompactionRequest(revision=revision))
        except RevisionInFuture as future:
            raise FutureRevision(revision, await self.current_revision()) from future
        except RevisionCompacted:
            pass  # by another server, up to here or further
        self.learn_compacted(revision)

    async def versions(self, key: str, *, limit: int) -> tuple[PastValue, ...]:
        """From a watch of the folder it is in: etcd has no question for it."""
        checked, newest = self._checked(key), await self.current_revision()
        while True:
            oldest = max(self._compacted, 1)
            try:
                since = await self._versions_between(key, oldest, newest)
                request = messages.RangeRequest(key=checked, revision=oldest)
                before = _first(key, await self._client.call(RANGE, request))
            except Compacted as gone:
                self.learn_compacted(gone.compacted)  # by another server, meanwhile
                continue
            except RevisionCompacted:
                continue  # the watch will say how far
            begun = () if before is None else (PastValue(before.revision, before.value),)
            return (*begun, *since)[-limit:]

    async def _versions_between(self, key: str, after: int, newest: int) -> tuple[PastValue, ...]:
        """Raises Compacted."""
        found: tuple[PastValue, ...] = ()
        if after >= newest:
            return found
        folder = key[: key.rindex("/") + 1]
        async with (
            self.watch(folder, after=after, with_old=False) as batches,
            # The newest write may be no object's.
            asking_for_progress(self, self._clock),
        ):
            async for batch in batches:
                found += tuple(
                    PastValue(change.revision, change.new.value if change.new else None)
                    for change in batch.changes
                    if change.key == key and change.revision <= newest
                )
                if batch.revision >= newest:
                    break
        return found

    def committed_at(self, revision: int) -> float | None:
        return None  # etcd does not say, and others write too

    def learn_compacted(self, revision: int) -> None:
        """A server has compacted up to ``revision``."""
        self._compacted = max(self._compacted, revision)

    @property
    def compacted_revision(self) -> int:
        return self._compacted

    @property
    def health(self) -> Health:
        return self._record.now

    async def run(self, compaction_s: float = COMPACTION_S) -> None:
        async with asyncio.TaskGroup() as parts:
            compacting = compaction.run(self, self._client, self._clock, compaction_s)
            parts.create_task(compacting, name="etcd: compaction")
            parts.create_task(self._probe_regularly(), name="etcd: probe")

    async def probe(self) -> None:
        """See whether etcd can be read and written."""
        self._record.change(await probe.ask(self._client))

    async def _probe_regularly(self) -> None:
        while True:
            await self.probe()
            await self._clock.sleep(probe.PROBE_S)

    def _put_if(
        self, key: bytes, value: bytes, expected: int, ttl_s: Ttl
    ) -> Coroutine[None, None, Any]:
        request = self._transaction(key, expected)
        put = request.success.add().request_put
        put.key, put.value = key, value
        return self._commit(request) if ttl_s is None else self._commit_with_ttl(request, ttl_s)

    async def _commit_with_ttl(self, request: Any, ttl_s: float) -> Any:
        request.success[0].request_put.lease = await self._leases.lease_for(ttl_s)
        return await self._commit(request)

    def _transaction(self, key: bytes, expected: int) -> Any:
        """If the key's revision is ``expected`` (0: absent) …, else read it."""
        request = messages.TxnRequest()
        compare = request.compare.add()
        compare.target, compare.key, compare.mod_revision = messages.COMPARE_MOD, key, expected
        request.failure.add().request_range.key = key
        return request

    async def _commit(self, request: Any) -> Any:
        """The revision of the write, or what was read instead."""
        try:
            answer = await self._client.call(TXN, request)
        except StorageFull as why:
            self._record.change(probe.full(str(why)))
            raise
        self._seen = answer.header.revision
        return self._seen if answer.succeeded else answer.responses[0].response_range

    async def _range(self, key: bytes, prefix: str, *, revision: int = 0, **options: Any) -> Any:
        # The root's marker stands behind all keys, so a range that ends at it leaves it out.
        end = self._marker if prefix == self._root else keyspace.end_of(prefix).encode()
        if key >= end:  # a start behind the prefix; etcd would take it for one key
            key = end
        request = messages.RangeRequest(key=key, range_end=end, revision=revision, **options)
        try:
            answer = await self._read_range(request)
        except RevisionInFuture as future:
            raise FutureRevision(revision, await self.current_revision()) from future
        except RevisionCompacted as gone:
            # Ours are known; of another server's etcd says only that it was further.
            raise Compacted(revision, max(self._compacted, revision + 1)) from gone
        self._seen = max(self._seen, answer.header.revision)
        return answer

    async def _read_range(self, request: Any) -> Any:
        """All that was asked for, or the first page of it (``more``)."""
        if not request.count_only and not 0 < request.limit <= _PAGE_MAX:
            if self._streams_ranges:
                answer = await self._client.read_range_stream(request)
                if answer is not None:
                    return answer
            request.limit = _PAGE_MAX
        return await self._client.call(RANGE, request)

    async def _grant(self, seconds: int) -> int:
        answer = await self._client.call(GRANT, messages.LeaseGrantRequest(TTL=seconds))
        return int(answer.ID)

    def _checked(self, key: str) -> bytes:
        keyspace.check_key(key)
        if not key.startswith(self._root):
            raise InvalidKey(f"invalid key {key!r}: it is not below {self._root}")
        return key.encode()

    def _check_prefix(self, prefix: str) -> None:
        keyspace.check_prefix(prefix)
        if not prefix.startswith(self._root):
            raise InvalidKey(f"invalid prefix {prefix!r}: it is not below {self._root}")

    def __repr__(self) -> str:
        return (
            f"<EtcdStorage at {','.join(self._client.config.endpoints)} (etcd {self._version}), "
            f"revision {max(self._seen, self._reads.seen)} seen, readable since {self._compacted}>"
        )


def _first(key: str, answer: Any) -> StoredValue | None:
    if not answer.kvs:
        return None
    kv = answer.kvs[0]
    return StoredValue(key, kv.value, kv.mod_revision)
