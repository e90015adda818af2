"""What copying a whole etcd needs beyond the contract of storage: leases, revisions, compaction.

Stands beside ``store``; used by ``storage/backup`` only.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from proreus.server.storage import keyspace
from proreus.server.storage.etcd import compaction, messages
from proreus.server.storage.etcd.client import COMPACT, PUT, RANGE, TIME_TO_LIVE, TXN, EtcdClient
from proreus.server.storage.etcd.errors import RevisionCompacted
from proreus.server.storage.interface import Compacted

_PAGE = 5_000
_IN_FLIGHT = 100
# Outside of the keys of servers. Its writes only take revisions; compaction removes them.
_FILLER = b"proreus-filler"


async def expiries(client: EtcdClient, revision: int, now: float) -> dict[int, float]:
    """When keys end that have a lease, in calendar time, by the revisions of their values.

    Raises Compacted.
    """
    leases: dict[int, int] = {}
    async for kv in _keys(client, revision):
        if kv.lease:
            leases[kv.mod_revision] = kv.lease
    ends = {lease: now + await _seconds_left(client, lease) for lease in set(leases.values())}
    return {revision: ends[lease] for revision, lease in leases.items()}


async def take_revisions(client: EtcdClient, count: int) -> None:
    """Let ``count`` revisions pass: etcd gives one to each transaction, in whatever order."""
    left = count

    async def take() -> None:
        nonlocal left
        request = messages.PutRequest(key=_FILLER)
        while left > 0:
            left -= 1
            await client.call(PUT, request)

    async with asyncio.TaskGroup() as takers:
        for _ in range(min(count, _IN_FLIGHT)):
            takers.create_task(take())


async def remove_all(client: EtcdClient) -> None:
    """Every key below the root, in one transaction."""
    request = messages.TxnRequest()
    removed = request.success.add().request_delete_range
    removed.key = client.config.root.encode()
    removed.range_end = keyspace.end_of(client.config.root).encode()
    await client.call(TXN, request)


async def begin_history(client: EtcdClient, revision: int) -> None:
    """Compact to ``revision``, and let every server know."""
    put = messages.PutRequest(key=compaction.KEY, value=str(revision).encode())
    await client.call(PUT, put)
    await client.call(COMPACT, messages.CompactionRequest(revision=revision))


async def _keys(client: EtcdClient, revision: int) -> AsyncIterator[Any]:
    key, end = client.config.root.encode(), keyspace.end_of(client.config.root).encode()
    while True:
        request = messages.RangeRequest(
            key=key, range_end=end, revision=revision, limit=_PAGE, keys_only=True
        )
        try:
            answer = await client.call(RANGE, request)
        except RevisionCompacted as gone:
            raise Compacted(revision, revision + 1) from gone
        for kv in answer.kvs:
            yield kv
        if not answer.more:
            return
        key = answer.kvs[-1].key + b"\0"


async def _seconds_left(client: EtcdClient, lease: int) -> int:
    """0: it is over, and its keys are about to go."""
    answer = await client.call(TIME_TO_LIVE, messages.LeaseTimeToLiveRequest(ID=lease))
    return max(0, int(answer.TTL))
