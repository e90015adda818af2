"""Serve a record, read-only, at any of its revisions: ``kubectl`` sees the cluster as it was.

A step forth is the write itself, so watches see its event; other steps set the server back or on,
which ends its watches. The server makes nothing of its own: it begins with what the record has.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager

from proreus.aio.clock import SystemClock
from proreus.api.status import Forbidden
from proreus.net.http1.messages import Answer
from proreus.server.app import ApiServer
from proreus.server.checkpoints import Checkpoints
from proreus.server.config import ServerConfig
from proreus.server.http.exchange import Exchange
from proreus.server.http.instruments import Instruments
from proreus.server.http.stages.stage import Next
from proreus.server.storage.interface import StoredValue
from proreus.server.storage.memory import MemoryStorage, StoreCheckpoint
from proreus.server.storage.revision_index import RevisionIndex
from proreus.testing.records.record import Record, WrittenValue

_ROUND_S, _SELDOM = 1.0, 100_000.0
_QUESTIONS = ("/apis/authorization.k8s.io/", "/apis/authentication.k8s.io/")


class _StillClock(SystemClock):
    """The rounds by which a server keeps its own objects never come: they would be writes."""

    async def sleep(self, delay_s: float) -> None:
        await super().sleep(delay_s * (_SELDOM if delay_s >= _ROUND_S else 1.0))


class Replay:
    """``revision`` is where it is."""

    def __init__(self, record: Record, api: ApiServer, memory: MemoryStorage) -> None:
        self.record = record
        self.api = api
        self.revision = record.revision
        self._memory = memory
        self._checkpoints = Checkpoints(api.parts.caches, api.parts.http, memory)

    async def go_to(self, revision: int) -> None:
        """The nearest revision that the record has."""
        record = self.record
        revision = min(max(revision, record.revision), record.last_revision)
        write = record.write_at(revision)
        if write is not None and revision == self.revision + 1:
            await self._write(write)
        else:
            await self._checkpoints.restore(_checkpoint(record, revision))
        self.revision = revision

    async def _write(self, write: WrittenValue) -> None:
        current = await self._memory.get(write.key)
        expected = current.revision if current is not None else 0
        if write.value is None:
            await self._memory.delete(write.key, expected=expected)
        elif current is None:
            await self._memory.create(write.key, write.value.encode())
        else:
            await self._memory.update(write.key, write.value.encode(), expected=expected)
        await self.api.parts.caches.wait_for(write.revision)


@asynccontextmanager
async def replaying(record: Record, config: ServerConfig | None = None) -> AsyncIterator[Replay]:
    """At its last revision when the body begins. ``config``: as for any server; its ``data_dir``
    is for keys alone."""
    clock = _StillClock()
    async with MemoryStorage.open(clock) as memory:
        instruments = Instruments(memory=memory, behind=(_refuse_writes,))
        async with ApiServer(config, clock, instruments) as api:
            replay = Replay(record, api, memory)
            await replay.go_to(record.last_revision)
            yield replay


def _refuse_writes(proceed: Next) -> Next:
    def stage(exchange: Exchange) -> Awaitable[Answer]:
        if not exchange.is_read and not exchange.path.startswith(_QUESTIONS):
            raise Forbidden("this is a record of what was: nothing can be changed in it")
        return proceed(exchange)

    return stage


def _checkpoint(record: Record, revision: int) -> StoreCheckpoint:
    index, values = RevisionIndex(), {}
    for one in sorted(record.at(revision).values(), key=lambda found: found.revision):
        assert one.value is not None, "what is deleted is not there"
        index.put(one.key, one.revision)
        values[one.revision] = StoredValue(one.key, one.value.encode(), one.revision)
    return StoreCheckpoint(
        revision=revision, compacted=revision, index=index, values=values, history=(), expiries={}
    )
