"""The writes of one run, as the server's storage has them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping

from proreus.api.json_types import JsonObject
from proreus.api.object import KubeObject
from proreus.server.storage.interface import Change, Storage, StoredValue
from proreus.testing.explore.planning import SIDE_ISSUES
from proreus.testing.explore.state import Key, State, StateChange
from proreus.testing.explore.stored_objects import StoredObjects

_ROOT = "/registry/"


class RunHistory:
    """Follow it by ``run``. ``count`` is of writes that matter: no leases, no Events."""

    def __init__(self, storage: Storage, reader: StoredObjects) -> None:
        self._storage = storage
        self._reader = reader
        self._beginning: Mapping[str, StoredValue] = {}
        self._changes: list[Change] = []
        self._is_open = asyncio.Event()
        self.count = 0
        self.revision = 0  # of the last write

    async def run(self) -> None:
        page = await self._storage.list(_ROOT)
        self._beginning = {item.key: item for item in page.items}
        self.revision = page.revision
        async with self._storage.watch(_ROOT, after=page.revision) as batches:
            self._is_open.set()
            async for batch in batches:
                for change in batch.changes:
                    self._changes.append(change)
                    self.revision = change.revision
                    self.count += not self._is_aside(change.key)

    async def wait_open(self) -> None:
        await self._is_open.wait()

    async def end(self, wanted: Callable[[str], bool]) -> list[JsonObject]:
        """The objects of the resources that are wanted and that the run made or changed."""
        page = await self._storage.list(_ROOT)
        found = []
        for item in page.items:
            before = self._beginning.get(item.key)
            if before is None or before.value != item.value:
                named = self._reader.name(item.key)
                if named is not None and wanted(named[0]):
                    obj = self._reader.decoded(item)
                    assert obj is not None, "it has a name, so its kind is served"
                    found.append(obj)
        return found

    async def gone(self, wanted: Callable[[str], bool]) -> list[Key]:
        """What was there at the beginning and is no more."""
        page = await self._storage.list(_ROOT)
        there = {item.key for item in page.items}
        named = (self._reader.name(key) for key in self._beginning if key not in there)
        return [name for name in named if name is not None and wanted(name[0])]

    def beginning(self) -> State:
        return State(dict(self._decoded(self._beginning.values())))

    def changes(self) -> Iterable[StateChange]:
        for change in self._changes:
            name = self._reader.name(change.key)
            if name is not None:
                old, new = self._reader.object(change.old), self._reader.object(change.new)
                yield StateChange(change.revision, name, old, new)

    def _decoded(self, items: Iterable[StoredValue]) -> Iterable[tuple[Key, KubeObject]]:
        for item in items:
            name, obj = self._reader.name(item.key), self._reader.object(item)
            if name is not None and obj is not None:
                yield name, obj

    def _is_aside(self, key: str) -> bool:
        name = self._reader.name(key)
        return name is None or name[0] in SIDE_ISSUES
