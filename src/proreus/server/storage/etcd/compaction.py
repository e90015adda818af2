"""Compaction of an etcd that several servers share: one of them does it, all know how far.

Kubernetes' own agreement, so that its servers can share too: the key ``compact_rev_key`` holds the
last compacted revision, and its version is the number of the round. Every five minutes each server
tries to write the next round; who succeeds compacts to the revision of the round before.
"""

from __future__ import annotations

from typing import Any, Protocol

import structlog

from proreus.aio.clock import Clock
from proreus.server.storage.etcd import messages
from proreus.server.storage.etcd.client import RANGE, TXN, EtcdClient
from proreus.server.storage.interface import COMPACTION_S, StorageError

KEY = b"compact_rev_key"
POLL_S = 15.0

_log = structlog.get_logger(__name__)


class Compactable(Protocol):
    async def compact(self, revision: int) -> None: ...

    def learn_compacted(self, revision: int) -> None: ...


class Rounds:
    """The agreement: which round it is and what the last one saw."""

    def __init__(self, client: EtcdClient) -> None:
        self._client = client
        self._round = 0
        self._seen = 0

    async def next(self) -> int:
        """The revision to compact to, if this server won the round; 0 if not."""
        request = messages.TxnRequest()
        compare = request.compare.add()
        compare.target, compare.key, compare.version = messages.COMPARE_VERSION, KEY, self._round
        put = request.success.add().request_put
        put.key, put.value = KEY, str(self._seen).encode()
        request.failure.add().request_range.key = KEY
        answer = await self._client.call(TXN, request)
        seen, self._seen = self._seen, answer.header.revision
        if not answer.succeeded:
            kvs = answer.responses[0].response_range.kvs
            self._round = kvs[0].version if kvs else 0
            return 0
        self._round += 1
        return seen


async def run(
    storage: Compactable, client: EtcdClient, clock: Clock, interval_s: float = COMPACTION_S
) -> None:
    """Compact in turn with others and learn what they compacted, until cancelled. 0: others do."""
    rounds = Rounds(client)
    next_round_at = clock.monotonic()
    while True:
        try:
            if interval_s and clock.monotonic() >= next_round_at:
                next_round_at += interval_s
                if revision := await rounds.next():
                    await storage.compact(revision)
            storage.learn_compacted(await agreed(client))
        except StorageError as why:
            _log.warning("history not compacted, will try again", reason=str(why))
        await clock.sleep(POLL_S)


async def agreed(client: EtcdClient) -> int:
    """How far the servers of this etcd have compacted it."""
    answer: Any = await client.call(RANGE, messages.RangeRequest(key=KEY))
    value = answer.kvs[0].value if answer.kvs else b"0"
    return int(value) if value.isdigit() else 0
