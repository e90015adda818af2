"""Values of a range, each claimed by one service.

A claim is a key in storage, written only if it is not there, so two servers cannot give the same
value away. It holds as long as its service has the value: a claim whose service is gone, or has
another value, may be taken over once it is old enough not to belong to a create under way. So a
crash leaves nothing to repair.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from proreus.aio.clock import Clock
from proreus.api.json_types import JsonObject
from proreus.api.status import InternalError
from proreus.api.wire import json
from proreus.server.registry.collection import Collection
from proreus.server.storage.interface import (
    KeyExists,
    KeyNotFound,
    PreconditionFailed,
    RevisionConflict,
)
from proreus.server.storage.resource_store import Preconditions, ResourceStore

_SETTLE_S = 60.0
_ATTEMPTS = 200
Holds = Callable[[JsonObject, str], bool]  # a service, a claimed value


class Taken(Exception):
    """Another service has it."""


class Claims:
    """The claims of one range. ``holds`` says whether a stored service has a value."""

    def __init__(
        self, store: ResourceStore, services: Collection, clock: Clock, holds: Holds
    ) -> None:
        self._store = store
        self._services = services
        self._clock = clock
        self._holds = holds

    async def take(self, value: str, owner: str) -> int:
        """Returns the claim's revision. Raises Taken."""
        claim = json.encode({"metadata": {"owner": owner, "since": self._clock.now()}})
        try:
            return (await self._store.create(value, claim)).revision
        except KeyExists as found:
            held_by = json.decode(found.current.value)["metadata"]
            # A service made anew under its old name takes up what it had before.
            if held_by["owner"] != owner and await self._is_held(held_by, value):
                raise Taken from found
            expected = found.current.revision

        async def take_over(current: Any) -> bytes:
            if current is None or current.revision != expected:
                raise RevisionConflict(value, expected, current)
            return claim

        try:
            return (await self._store.guaranteed_update(value, take_over)).new.revision
        except (RevisionConflict, KeyNotFound) as lost:
            raise Taken from lost

    async def take_any(self, values: Iterator[str], owner: str) -> tuple[str, int]:
        """The first that is free, and its claim's revision. Raises InternalError."""
        for _ in range(_ATTEMPTS):
            value = next(values)
            with suppress(Taken):
                return value, await self.take(value, owner)
        raise InternalError.of("failed to allocate a serviceIP: range is full")

    async def give_back(self, value: str, owner: str, revision: int) -> None:
        """Unless the stored service has it, or somebody took it over."""
        if await self._has(owner, value):
            return
        with suppress(KeyNotFound, PreconditionFailed):
            await self._store.delete(
                value, preconditions=Preconditions(resource_version=str(revision))
            )

    async def _is_held(self, claim: JsonObject, value: str) -> bool:
        if await self._has(claim["owner"], value):
            return True
        return bool(self._clock.now() - claim["since"] < _SETTLE_S)

    async def _has(self, owner: str, value: str) -> bool:
        stored = await self._services.store.get(owner)
        return stored is not None and self._holds(self._services.decode(stored), value)
