"""List and watch of one selection, over the wire: what ``reflector.list_watch`` asks for."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Generic

from proreus.api.object_list import ObjectList
from proreus.api.object_type import Object
from proreus.api.wire.framing import WatchEvent
from proreus.client.resources.scope import ResourceScope
from proreus.client.rest.calls import ListCall, WatchCall
from proreus.client.rest.request import RestRequest, list_query, watch_query
from proreus.client.rest.watch_stream import open_watch


@dataclass(frozen=True, slots=True)
class ResourceListWatch(Generic[Object]):
    """Both verbs use the same selectors, so that a list and the watch after it agree."""

    scope: ResourceScope[Object]
    label_selector: str = ""
    field_selector: str = ""

    async def list(self, asked: ListCall) -> ObjectList[Object]:
        query = list_query(
            label_selector=self.label_selector,
            field_selector=self.field_selector,
            resource_version=asked.resource_version,
            limit=asked.limit,
            continue_token=asked.continue_token,
        )
        path = await self.scope.collection_path()
        return await self.scope.get_list(
            RestRequest("list", "GET", path, query, accept=self.scope.accept_list)
        )

    @contextlib.asynccontextmanager
    async def watch(self, asked: WatchCall) -> AsyncIterator[AsyncIterator[WatchEvent[Object]]]:
        """One stream. For how long it may be silent is the reader's to decide, as a reflector
        does; here nothing ends it."""
        request = await self.watch_request(asked)
        async with open_watch(self.scope.rest, request) as events:
            yield self.scope.typed_events(events)

    async def watch_request(self, asked: WatchCall) -> RestRequest:
        query = watch_query(
            list_query(
                label_selector=self.label_selector,
                field_selector=self.field_selector,
                resource_version=asked.resource_version,
                # The only match that the server accepts with initial events.
                resource_version_match="NotOlderThan" if asked.send_initial_events else "",
                timeout_s=asked.timeout_s,
            ),
            allow_bookmarks=asked.allow_bookmarks,
            send_initial_events=asked.send_initial_events or None,
        )
        path = await self.scope.collection_path()
        return RestRequest("watch", "GET", path, query, accept=self.scope.accept)
