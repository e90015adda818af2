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
from proreus.client.rest.request import RestRequest, list_query, watch_query
from proreus.client.rest.watch_stream import open_watch

_NOT_OLDER_THAN = "NotOlderThan"


@dataclass(frozen=True, slots=True)
class ResourceListWatch(Generic[Object]):
    """Both verbs use the same selectors, so that a list and the watch after it agree."""

    scope: ResourceScope[Object]
    label_selector: str = ""
    field_selector: str = ""

    async def list(
        self,
        *,
        resource_version: str,
        limit: int,
        continue_token: str,
        resource_version_match: str = "",
    ) -> ObjectList[Object]:
        asked = list_query(
            label_selector=self.label_selector,
            field_selector=self.field_selector,
            resource_version=resource_version,
            resource_version_match=resource_version_match,
            limit=limit,
            continue_token=continue_token,
        )
        path = await self.scope.collection_path()
        return await self.scope.get_list(
            RestRequest("list", "GET", path, asked, accept=self.scope.accept_list)
        )

    @contextlib.asynccontextmanager
    async def watch(
        self,
        *,
        resource_version: str,
        timeout_s: int,
        send_initial_events: bool = False,
        resource_version_match: str = "",
        allow_bookmarks: bool = True,
    ) -> AsyncIterator[AsyncIterator[WatchEvent[Object]]]:
        """One stream. For how long it may be silent is the reader's to decide, as a reflector
        does; here nothing ends it."""
        request = await self.watch_request(
            resource_version=resource_version,
            timeout_s=timeout_s,
            send_initial_events=send_initial_events,
            resource_version_match=resource_version_match,
            allow_bookmarks=allow_bookmarks,
        )
        async with open_watch(self.scope.rest, request) as events:
            yield self.scope.typed_events(events)

    async def watch_request(
        self,
        *,
        resource_version: str,
        timeout_s: int,
        send_initial_events: bool,
        resource_version_match: str = "",
        allow_bookmarks: bool,
    ) -> RestRequest:
        if send_initial_events and not resource_version_match:
            resource_version_match = _NOT_OLDER_THAN  # the only one the server accepts with it
        asked = watch_query(
            list_query(
                label_selector=self.label_selector,
                field_selector=self.field_selector,
                resource_version=resource_version,
                resource_version_match=resource_version_match,
                timeout_s=timeout_s,
            ),
            allow_bookmarks=allow_bookmarks,
            send_initial_events=send_initial_events or None,
        )
        path = await self.scope.collection_path()
        return RestRequest("watch", "GET", path, asked, accept=self.scope.accept)
