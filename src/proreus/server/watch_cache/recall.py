"""What happened before a cache began, read from storage when a watcher asks for it.

Receives: Change, from storage.  Hands on: Transition, to the front of ``history``.
A server that was just started begins 1,000 writes in the past. Watchers of another server, or of
the one before, may know less: those of a quiet resource are told how far they are once a minute.
Storage still has what they miss, and they need not list again (kube-apiserver cannot do that).
Invariant: history stays without gaps; what is put in front of it ends where it began.

Only what came before the cache: a change that history has dropped since is gone for watchers, as in
Kubernetes. Bounded in changes, bytes and time; who asks for more is told to list.
"""

from __future__ import annotations

import asyncio
import logging

from proreus.aio.clock import deadline
from proreus.server.storage.interface import Change, StorageError, StoredValue
from proreus.server.storage.progress import asking_for_progress
from proreus.server.watch_cache.freshness import WAIT_S
from proreus.server.watch_cache.history import Transition
from proreus.server.watch_cache.object import CachedObject, ObjectReader
from proreus.server.watch_cache.state import CacheState, SharedParts

CHANGES_MAX = 10_000
_BYTES_MAX = 32 * 1024 * 1024
_SLICE = 50  # changes read between two turns

_log = logging.getLogger(__name__)


class _TooMuch(Exception):
    """More has happened than a watcher may be told."""


class Recall:
    def __init__(self, state: CacheState, shared: SharedParts, reader: ObjectReader) -> None:
        self._state = state
        self._shared = shared
        self._reader = reader
        self._wanted: list[int] = []  # by those who wait
        self._refused = -1  # from here on, and further back, it was in vain
        self._is_reading = False
        self._done = asyncio.Event()

    async def reach(self, revision: int) -> None:
        """Let history begin at ``revision`` or before, if that can be had; the caller looks.

        Many come at once when a server starts: one of them reads for all.
        """
        if not self._is_missing(revision):
            return
        self._wanted.append(revision)
        try:
            while self._is_missing(revision):
                if self._is_reading:
                    await self._done.wait()
                else:
                    await self._read(min(self._wanted))
        finally:
            self._wanted.remove(revision)

    def _is_missing(self, revision: int) -> bool:
        history = self._state.history
        oldest = max(self._shared.storage.compacted_revision, self._refused + 1)
        return history.is_from_start and oldest <= revision < history.complete_after

    async def _read(self, after: int) -> None:
        self._is_reading = True
        try:
            await self._extend(after)
        except (StorageError, TimeoutError, _TooMuch) as why:
            _log.info("what happened after %d cannot be told any more: %r", after, why)
            self._refused = max(self._refused, after)
        finally:
            self._is_reading = False
            self._done.set()
            self._done = asyncio.Event()

    async def _extend(self, after: int) -> None:
        history = self._state.history
        until = history.complete_after
        async with deadline(self._shared.clock, WAIT_S):
            changes = await self._changes(after, until)
            transitions = await self._transitions(changes)
        # From here on there is no await. Reloaded or overtaken meanwhile: whoever asked looks anew.
        if self._state.history is history and history.complete_after == until:
            history.extend_back(transitions, after)

    async def _changes(self, after: int, until: int) -> list[Change]:
        found: list[Change] = []
        size = 0
        storage = self._shared.storage
        async with (
            storage.watch(self._reader.prefix, after=after) as batches,
            # The newest of the writes may be another resource's.
            asking_for_progress(storage, self._shared.clock),
        ):
            async for batch in batches:
                for change in batch.changes:
                    if change.revision <= until:
                        found.append(change)
                        size += sum(len(v.value) for v in (change.old, change.new) if v is not None)
                if len(found) > CHANGES_MAX or size > _BYTES_MAX:
                    raise _TooMuch(f"{len(found)} changes, {size} bytes")
                if batch.revision >= until:
                    break
        return found

    async def _transitions(self, changes: list[Change]) -> list[Transition]:
        found: list[Transition] = []
        known: dict[str, CachedObject] = {}
        now_s = self._shared.clock.monotonic()

        def read(stored: StoredValue | None) -> CachedObject | None:
            if stored is None:
                return None
            before = known.get(stored.key)
            if before is not None and before.revision == stored.revision:
                return before
            known[stored.key] = made = self._reader.read(stored)
            return made

        for at, change in enumerate(changes):
            if at and at % _SLICE == 0:
                await self._shared.turns.wait()
            key = change.key[len(self._reader.prefix) :]
            old, new = read(change.old), read(change.new)
            found.append(Transition(change.revision, key, old, new, now_s))
        return found

    def __repr__(self) -> str:
        return f"<Recall for {self._state.kind.resource}: {len(self._wanted)} wait>"
