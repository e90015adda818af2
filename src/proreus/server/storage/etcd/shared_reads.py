"""Reads of the present, many in one request: who asks while one is on its way shares the next.

Stands between ``store`` and ``client``: keys and the newest revision are read here.
Invariant: a read is answered by a request that was sent after it began, never by one that was on
its way already; so it sees every write that was acknowledged before (linearizable). A transaction
of nothing but reads is ordered by etcd as a single read is, through the majority.

Cost: a future per read; etcd and the majority are asked once per round trip, however many wait.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from typing import Any

from proreus.lazy_dataclass import dataclass
from proreus.server.storage.etcd import messages
from proreus.server.storage.etcd.client import RANGE, READ_TXN, Method
from proreus.server.storage.interface import StorageFull, Unavailable

_KEYS_MAX = 64  # in one transaction; etcd takes 128 by default
_NO_KEY = b""  # in place of a key: who asks needs the revision alone


@dataclass(frozen=True, slots=True)
class Newest:
    """What a key is at ``revision``, the newest one of all; ``kv`` None: it is not there."""

    revision: int
    kv: Any


@dataclass(frozen=True, slots=True)
class _Found:
    """The newest revision, and the keys that are there at it."""

    revision: int
    kvs: Iterable[Any]


Call = Callable[[Method, Any], Awaitable[Any]]
_Waiting = dict[bytes, list[asyncio.Future[Newest]]]


class SharedReads:
    """See the module. ``call`` is the client's; the end of ``run`` fails those who still wait."""

    def __init__(self, call: Call) -> None:
        self._call = call
        # Keys not asked for yet. No bound: each is a caller that waits, and those are bounded.
        self._waiting: _Waiting = {}
        self._somebody_waits = asyncio.Event()
        self._is_over = False

    async def read(self, key: bytes) -> Newest:
        """Raises StorageError."""
        if self._is_over:
            raise _closed()
        answered: asyncio.Future[Newest] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(key, []).append(answered)
        self._somebody_waits.set()
        return await answered

    async def revision(self) -> int:
        return (await self.read(_NO_KEY)).revision

    async def run(self) -> None:
        """Ask, one request at a time, for ever."""
        try:
            while True:
                await self._somebody_waits.wait()
                while self._waiting:
                    keys = [*self._waiting][:_KEYS_MAX]
                    await self._ask({key: self._waiting.pop(key) for key in keys})
                self._somebody_waits.clear()
        finally:
            self._is_over = True
            for waiting in self._waiting.values():
                _fail(waiting, _closed())

    async def _ask(self, asked: _Waiting) -> None:
        try:
            found = await self._found([key for key in asked if key != _NO_KEY])
        except asyncio.CancelledError:
            for waiting in asked.values():
                _fail(waiting, _closed())
            raise
        except Exception as failure:  # whatever it is, it is theirs
            for waiting in asked.values():
                _fail(waiting, failure)
            return
        by_key = {kv.key: kv for kv in found.kvs}
        for key, waiting in asked.items():
            newest = Newest(found.revision, by_key.get(key))
            for answered in waiting:
                if not answered.done():
                    answered.set_result(newest)

    async def _found(self, keys: list[bytes]) -> _Found:
        if len(keys) > 1:
            with suppress(StorageFull):  # etcd before 3.6 refuses even these while it is full
                return await self._found_at_once(keys)
            one_by_one = [await self._found_alone(key) for key in keys]
            # Each was read at its time; all saw what the first one did.
            return _Found(one_by_one[0].revision, [kv for one in one_by_one for kv in one.kvs])
        return await self._found_alone(*keys)

    async def _found_at_once(self, keys: list[bytes]) -> _Found:
        request = messages.TxnRequest()
        for key in keys:
            request.success.add().request_range.key = key
        answer = await self._call(READ_TXN, request)
        ranges = (response.response_range for response in answer.responses)
        return _Found(answer.header.revision, [kv for found in ranges for kv in found.kvs])

    async def _found_alone(self, key: bytes | None = None) -> _Found:
        # A key that is not there is as good as one that is: the member has caught up either way.
        question = messages.RangeRequest(key=key or b"\0", count_only=key is None)
        answer = await self._call(RANGE, question)
        return _Found(answer.header.revision, answer.kvs)

    def __repr__(self) -> str:
        waiting = sum(map(len, self._waiting.values()))
        return f"<SharedReads: {waiting} wait{', over' if self._is_over else ''}>"


def _fail(waiting: Iterable[asyncio.Future[Newest]], failure: Exception) -> None:
    for answered in waiting:
        if not answered.done():
            answered.set_exception(failure)


def _closed() -> Unavailable:
    return Unavailable("the store is closed")
