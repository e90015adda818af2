"""The server's present state, with which a cache is compared until it is as new (``wait_current``).

A bookmark would say so too, but servers send one a minute. So the collection is listed: its newest
object and what is missing in it are events that the watch will deliver soon.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from proreus.aio.clock import Clock
from proreus.api.object_list import ObjectList
from proreus.client.reflector.list_watch import ListWatch
from proreus.client.rest.calls import ListCall

_PAGE = 500


@dataclass(frozen=True, slots=True)
class ServerState:
    """``version``: of the collection. ``newest``: of the last object that was written."""

    version: int
    newest: int
    uids: frozenset[str]


class ServerStates:
    """Lists a collection for all who ask at about the same time: a list that began after the
    question answers it, so that a hundred questions cost two lists."""

    def __init__(self, list_watch: ListWatch, clock: Clock) -> None:
        self._list_watch = list_watch
        self._clock = clock
        self._turn = asyncio.Lock()
        self._asking = 0
        self._begun_at = 0.0
        self._found: ServerState | None = None

    async def now(self) -> ServerState:
        """Raises ApiError, TransportError, ValueError for versions that are no numbers."""
        asked_at = self._clock.monotonic()
        self._asking += 1
        try:
            async with self._turn:
                if self._found is None or self._begun_at <= asked_at:
                    self._begun_at = self._clock.monotonic()
                    self._found = await self._list()
                return self._found
        finally:
            self._asking -= 1
            if not self._asking:
                self._found = None

    async def _list(self) -> ServerState:
        page: ObjectList | None = None
        newest, uids = 0, set[str]()
        while page is None or page.continue_token:
            token = "" if page is None else page.continue_token
            page = await self._list_watch.list(ListCall(limit=_PAGE, continue_token=token))
            uids.update(one.uid for one in page.items)
            newest = max([newest, *(int(one.resource_version) for one in page.items)])
        return ServerState(int(page.resource_version), newest, frozenset(uids))
