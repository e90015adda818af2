"""Verbs made of several requests: ``modify`` reads and writes back, ``ensure`` says what it did."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic

from proreus.api.json_types import Json, JsonObject
from proreus.api.object import KubeObject, ObjectLike
from proreus.api.object_type import Object
from proreus.api.status import NotFound
from proreus.client.resources.reading import ReadVerbs
from proreus.client.resources.writing import WriteVerbs
from proreus.client.rest.request import RestRequest, require_name
from proreus.client.retry_on_conflict import retry_on_conflict


class ApplyOutcome(StrEnum):
    """kubectl's words."""

    CREATED = "created"
    CONFIGURED = "configured"
    UNCHANGED = "unchanged"


@dataclass(frozen=True, slots=True)
class Applied(Generic[Object]):
    """The object as it is now, and what the write did to it."""

    object: Object
    outcome: ApplyOutcome

    @property
    def has_changed(self) -> bool:
        return self.outcome is not ApplyOutcome.UNCHANGED


class ModifyVerbs(ReadVerbs[Object], WriteVerbs[Object]):
    """Mixed into ``ResourceClient``."""

    async def modify(
        self,
        name: str,
        change: Callable[[JsonObject], JsonObject | None],
        *,
        subresource: str = "",
        field_manager: str = "",
    ) -> Object:
        """Read the object, have ``change`` change it (in place, or it returns another), and write
        it back; again if another writer was faster. Nothing is written if nothing changes.

        Raises ``NotFound``, and ``Conflict`` if others are faster five times in a row.
        """

        async def attempt() -> Object:
            present = await self.get(name)
            before, content = present.to_dict(), present.to_dict()
            wanted = change(content) or content
            if wanted == before:
                return present
            return await self.replace(wanted, subresource=subresource, field_manager=field_manager)

        return await retry_on_conflict(attempt, clock=self._scope.rest.clock)

    async def ensure(
        self,
        body: Object | Json,
        *,
        known: KubeObject | None = None,
        field_manager: str = "",
        force: bool = True,
    ) -> Applied[Object]:
        """Server-side apply, and whether it changed anything.

        ``known`` is the last state the caller has seen, from a cache for example; without it the
        object is read first. What others changed since then counts as a change.
        """
        if known is None:
            known = await self._found(body)
        applied = await self.apply(body, field_manager=field_manager, force=force)
        if known is None or known.uid != applied.uid:
            return Applied(applied, ApplyOutcome.CREATED)
        is_same = known.resource_version == applied.resource_version
        return Applied(applied, ApplyOutcome.UNCHANGED if is_same else ApplyOutcome.CONFIGURED)

    async def _found(self, body: ObjectLike) -> KubeObject | None:
        name = require_name(str((body.get("metadata") or {}).get("name") or ""))
        path = await self._scope.object_path(name, body=body)
        try:
            return await self._scope.rest.get_object(
                RestRequest("get", "GET", path, accept=self._scope.accept)
            )
        except NotFound:
            return None
