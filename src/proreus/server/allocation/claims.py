"""Values of a range, each claimed by one service.

A claim is an object in storage, written only if it is not there, so two servers cannot give the
same value away. It holds as long as its service has the value: a claim whose service is gone, or
has another value, may be taken over once it is old enough not to belong to a create under way. So
a crash leaves nothing that must be repaired before the value can be used again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, Protocol

from proreus.aio.clock import Clock
from proreus.api.json_types import JsonObject
from proreus.api.status import InternalError
from proreus.lazy_dataclass import dataclass
from proreus.server.registry.collection import Collection
from proreus.server.storage.interface import (
    KeyExists,
    KeyNotFound,
    PreconditionFailed,
    RevisionConflict,
    StoredValue,
)
from proreus.server.storage.resource_store import Preconditions, ResourceStore

SETTLE_S = 60.0
_PER_TURN = 1000
Holds = Callable[[JsonObject, str], bool]  # a service, a claimed value


class Taken(Exception):
    """Another service has it."""


class Records(Protocol):
    """What a claim looks like in storage."""

    async def write(self, value: str, owner: str, now: float) -> bytes: ...

    def owner(self, stored: bytes) -> str:
        """The key of a service; "": it is no service's, and stays."""
        ...

    def since(self, stored: bytes) -> float: ...

    def is_free(self, value: str) -> bool:
        """False if it is known, without asking storage, that the value is claimed."""
        ...


@dataclass(frozen=True, slots=True)
class Claims:
    """The claims of one range. ``holds`` says whether a stored service has a value, ``what`` is the
    name of a value in messages."""

    store: ResourceStore
    records: Records
    services: Collection
    clock: Clock
    holds: Holds
    what: str

    async def take(self, value: str, owner: str) -> int:
        """Returns the claim's revision. Raises Taken."""
        claim = await self.records.write(value, owner, self.clock.now())
        try:
            return (await self.store.create(value, claim)).revision
        except KeyExists as found:
            # A service made anew under its old name takes up what it had before.
            if await self._is_held(found.current, owner):
                raise Taken from found
            expected = found.current.revision

        async def take_over(current: Any) -> bytes:
            if current is None or current.revision != expected:
                raise RevisionConflict(value, expected, current)
            return claim

        try:
            return (await self.store.guaranteed_update(value, take_over)).new.revision
        except (RevisionConflict, KeyNotFound) as lost:
            raise Taken from lost

    async def take_any(self, values: Iterator[str], owner: str) -> tuple[str, int]:
        """The first that is free, and its claim's revision. Raises InternalError."""
        for count, value in enumerate(values, 1):
            if self.records.is_free(value):
                with suppress(Taken):
                    return value, await self.take(value, owner)
            if count % _PER_TURN == 0:
                await asyncio.sleep(0)  # the range is nearly full, and others wait
        raise InternalError.of(f"failed to allocate a {self.what}: range is full")

    async def give_back(self, value: str, owner: str, revision: int) -> None:
        """Unless the stored service has it, or somebody took it over."""
        if not await self.is_had(value, owner):
            await self._remove(value, Preconditions(resource_version=str(revision)))

    async def release(self, value: str, owner: str) -> None:
        """The service does not have it any more; nothing happens if the claim is another's."""

        async def check(found: StoredValue) -> None:
            if self.records.owner(found.value) != owner:
                raise PreconditionFailed(value, "owner", owner, "another")

        with suppress(KeyNotFound, PreconditionFailed):
            await self.store.delete(value, validate=check)

    async def release_if_orphaned(self, stored: StoredValue) -> bool:
        """Whether its service is gone, or has another value, and the claim with it."""
        if await self._is_held(stored, ""):
            return False
        await self._remove(stored.key, Preconditions(resource_version=str(stored.revision)))
        return True

    async def is_had(self, value: str, owner: str) -> bool:
        """Whether the stored service has the value."""
        stored = await self.services.store.get(owner)
        return stored is not None and self.holds(self.services.decode(stored), value)

    async def _remove(self, value: str, preconditions: Preconditions) -> None:
        with suppress(KeyNotFound, PreconditionFailed):
            await self.store.delete(value, preconditions=preconditions)

    async def _is_held(self, claim: StoredValue, by_other_than: str) -> bool:
        owner = self.records.owner(claim.value)
        if not owner:
            return True
        if owner == by_other_than:
            return False
        if self.clock.now() - self.records.since(claim.value) < SETTLE_S:
            return True
        return await self.is_had(claim.key, owner)
