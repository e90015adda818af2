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
from itertools import chain
from typing import Any

from proreus.lazy_dataclass import dataclass
from proreus.server.storage.etcd import messages
from proreus.server.storage.etcd.client import RANGE, READ_TXN, Method
from proreus.server.storage.interface import StorageFull, Unavailable

_KEYS_MAX = 64  # in one transaction; etcd takes 128 by default
# A key that is not there is as good as one that is: the member has caught up either way.
_NO_KEY = messages.RangeRequest(key=b"\0", count_only=True)


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


class SharedReads:
    """See the module. ``call`` is the client's; the end of ``run`` fails those who still wait."""

    def __init__(self, call: Call) -> None:
        self._call = call
        # Not asked for yet. No bound: each is a caller that waits, and those are bounded.
        self._keys: dict[bytes, list[asyncio.Future[Newest]]] = {}
        self._revisions: list[asyncio.Future[int]] = []  # of those who need no more
        self._somebody_waits = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._is_over = False
        self.seen = 0  # the newest revision that was found

    async def read(self, key: bytes) -> Newest:
        """Raises StorageError."""
        self._begin()
        answered: asyncio.Future[Newest] = self._loop.create_future()
        waiting = self._keys.get(key)
        if waiting is None:
            self._keys[key] = [answered]
        else:
            waiting.append(answered)
        return await answered

    async def revision(self) -> int:
        """The newest one of all. Raises StorageError."""
        if not self._revisions:
            self._begin()
        answered: asyncio.Future[int] = self._loop.create_future()
        self._revisions.append(answered)
        return await answered

    def _begin(self) -> None:
        if self._is_over:
            raise _closed()
        self._somebody_waits.set()

    async def run(self) -> None:
        """Ask, one request at a time, for ever."""
        try:
            while True:
                await self._somebody_waits.wait()
                while self._keys or self._revisions:
                    await self._ask()
                self._somebody_waits.clear()
        finally:
            self._is_over = True
            _fail(chain(self._revisions, *self._keys.values()), _closed())
            self._revisions.clear()
            self._keys.clear()

    async def _ask(self) -> None:
        revisions, self._revisions = self._revisions, []
        keys = {key: self._keys.pop(key) for key in [*self._keys][:_KEYS_MAX]} if self._keys else {}
        try:
            found = await (self._found([*keys]) if keys else self._found_alone())
        except asyncio.CancelledError:
            _fail(chain(revisions, *keys.values()), _closed())
            raise
        except Exception as failure:  # whatever it is, it is theirs
            _fail(chain(revisions, *keys.values()), failure)
            return
        revision = self.seen = found.revision
        for reader in revisions:
            if not reader.done():
                reader.set_result(revision)
        if not keys:
            return
        by_key = {kv.key: kv for kv in found.kvs}
        for key, waiting in keys.items():
            newest = Newest(found.revision, by_key.get(key))
            for answered in waiting:
                if not answered.done():
                    answered.set_result(newest)

    async def _found(self, keys: list[bytes]) -> _Found:
        """``keys``: at least one."""
        if len(keys) > 1:
            with suppress(StorageFull):  # etcd before 3.6 refuses even these while it is full
                return await self._found_at_once(keys)
            one_by_one = [await self._found_alone(key) for key in keys]
            # Each was read at its time; all saw what the first one did.
            return _Found(one_by_one[0].revision, [kv for one in one_by_one for kv in one.kvs])
        return await self._found_alone(keys[0])

    async def _found_at_once(self, keys: list[bytes]) -> _Found:
        request = messages.TxnRequest()
        for key in keys:
            request.success.add().request_range.key = key
        answer = await self._call(READ_TXN, request)
        ranges = (response.response_range for response in answer.responses)
        return _Found(answer.header.revision, [kv for found in ranges for kv in found.kvs])

    async def _found_alone(self, key: bytes | None = None) -> _Found:
        question = _NO_KEY if key is None else messages.RangeRequest(key=key)
        answer = await self._call(RANGE, question)
        return _Found(answer.header.revision, answer.kvs)

    def __repr__(self) -> str:
        waiting = len(self._revisions) + sum(map(len, self._keys.values()))
        return f"<SharedReads: {waiting} wait{', over' if self._is_over else ''}>"


def _fail(waiting: Iterable[asyncio.Future[Any]], failure: Exception) -> None:
    for answered in waiting:
        if not answered.done():
            answered.set_exception(failure)


def _closed() -> Unavailable:
    return Unavailable("the store is closed")
