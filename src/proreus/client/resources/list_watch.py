"""List and watch of one selection, over the wire: what ``informer.list_watch`` asks for."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass

from proreus.api.object_list import ObjectList
from proreus.api.wire.framing import WatchEvent
from proreus.client.resources.scope import Scope
from proreus.client.rest.request import Request, list_query, watch_query
from proreus.client.rest.watch_stream import SILENCE_MAX_S, open_watch

_NOT_OLDER_THAN = "NotOlderThan"


@dataclass(frozen=True, slots=True)
class ResourceListWatch:
    """Both verbs use the same selectors, so that a list and the watch after it agree."""

    scope: Scope
    label_selector: str = ""
    field_selector: str = ""
    silence_max_s: float | None = SILENCE_MAX_S

    async def list(
        self,
        *,
        resource_version: str,
        limit: int,
        continue_token: str,
        resource_version_match: str = "",
    ) -> ObjectList:
        asked = list_query(
            label_selector=self.label_selector,
            field_selector=self.field_selector,
            resource_version=resource_version,
            resource_version_match=resource_version_match,
            limit=limit,
            continue_token=continue_token,
        )
        path = await self.scope.collection_path()
        return await self.scope.rest.get_list(
            Request("list", "GET", path, asked, accept=self.scope.accept_list)
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
    ) -> AsyncIterator[AsyncIterator[WatchEvent]]:
        """One stream. Without bookmarks silence says nothing, so only ``timeout_s`` bounds it."""
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
        async with open_watch(
            self.scope.rest,
            Request("watch", "GET", path, asked, accept=self.scope.accept),
            timeout_s=timeout_s,
            silence_max_s=self.silence_max_s if allow_bookmarks else None,
        ) as events:
            yield events
