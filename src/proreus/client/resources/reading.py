"""The verbs that read: get, list, pages, watch."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Generic

from proreus.api.object_list import ObjectList
from proreus.api.object_type import Object
from proreus.api.wire.framing import WatchEvent
from proreus.client.resources.scope import ResourceScope
from proreus.client.rest import pager
from proreus.client.rest.request import SILENCE_MAX_S, RestRequest, list_query, query, require_name

if TYPE_CHECKING:
    from proreus.client.resources.event_stream import EventStream
    from proreus.client.resources.list_watch import ResourceListWatch


class ReadVerbs(Generic[Object]):
    """Mixed into ``ResourceClient``."""

    _scope: ResourceScope[Object]

    async def get(self, name: str, *, resource_version: str = "", subresource: str = "") -> Object:
        """One object. Raises ``NotFound``."""
        path = await self._scope.object_path(require_name(name), subresource=subresource)
        asked = query((("resourceVersion", resource_version),))
        return await self._scope.get_object(
            RestRequest("get", "GET", path, asked, accept=self._scope.accept)
        )

    async def list(
        self,
        *,
        label_selector: str = "",
        field_selector: str = "",
        resource_version: str = "",
        resource_version_match: str = "",
        limit: int = 0,
        continue_token: str = "",
    ) -> ObjectList[Object]:
        """All objects, or one page of ``limit``; see ``pages`` for large collections."""
        path = await self._scope.collection_path()
        asked = list_query(
            label_selector=label_selector,
            field_selector=field_selector,
            resource_version=resource_version,
            resource_version_match=resource_version_match,
            limit=limit,
            continue_token=continue_token,
        )
        return await self._scope.get_list(
            RestRequest("list", "GET", path, asked, accept=self._scope.accept_list)
        )

    def pages(
        self,
        *,
        label_selector: str = "",
        field_selector: str = "",
        resource_version: str = "",
        page_size: int = pager.PAGE_SIZE,
    ) -> AsyncIterator[ObjectList[Object]]:
        """The objects page by page, all of one state. Raises ``Expired`` if read too slowly."""
        selected = self.list_watch(label_selector=label_selector, field_selector=field_selector)
        return pager.pages(selected.list, page_size=page_size, resource_version=resource_version)

    async def list_all(
        self,
        *,
        label_selector: str = "",
        field_selector: str = "",
        resource_version: str = "",
        page_size: int = pager.PAGE_SIZE,
    ) -> ObjectList[Object]:
        """All objects, fetched in pages; starts over in one piece if a page has expired."""
        selected = self.list_watch(label_selector=label_selector, field_selector=field_selector)
        return await pager.collect(
            selected.list, page_size=page_size, resource_version=resource_version
        )

    @contextlib.asynccontextmanager
    async def watch(
        self,
        *,
        resource_version: str = "",
        label_selector: str = "",
        field_selector: str = "",
        timeout_s: int = 0,
        allow_bookmarks: bool = True,
        send_initial_events: bool = False,
        silence_max_s: float | None = SILENCE_MAX_S,
    ) -> AsyncIterator[AsyncIterator[WatchEvent[Object]]]:
        """One stream of changes after ``resource_version``; it ends when the server ends it.

        An informer is what survives broken connections and expired versions; this is the raw
        stream. ``silence_max_s`` is how long it may say nothing before it counts as dead; without
        bookmarks silence says nothing, so only ``timeout_s`` bounds it then.
        """
        from proreus.client.rest.calls import WatchCall
        from proreus.client.rest.watch_stream import open_watch

        selected = self.list_watch(label_selector=label_selector, field_selector=field_selector)
        asked = WatchCall(
            resource_version=resource_version,
            timeout_s=timeout_s,
            send_initial_events=send_initial_events,
            allow_bookmarks=allow_bookmarks,
        )
        request = await selected.watch_request(asked)
        async with open_watch(
            self._scope.rest,
            request,
            timeout_s=timeout_s,
            silence_max_s=silence_max_s if allow_bookmarks else None,
        ) as events:
            yield self._scope.typed_events(events)

    def events(
        self,
        *,
        since: str = "",
        name: str = "",
        label_selector: str = "",
        field_selector: str = "",
    ) -> EventStream[Object]:
        """Every change, for ever: a watch that is resumed, paced and replaced as an informer's is.

        ``since``: the version after which changes count; without one it begins with every object
        as a synthetic ADDED. ``name``: of one object only. Raises what the server will go on to
        refuse, as ``Forbidden``.
        """
        from proreus.client.resources.event_stream import EventStream
        from proreus.client.resources.list_watch import ResourceListWatch

        scope = self._scope
        if name:
            own = f"metadata.name={require_name(name)}"
            field_selector = f"{field_selector},{own}" if field_selector else own
            scope.require_namespace()
        selected = ResourceListWatch(scope, label_selector, field_selector)
        label = f"{scope.label} {name}".rstrip()
        return EventStream(selected, label, since=since, clock=scope.rest.clock)

    def list_watch(
        self, *, label_selector: str = "", field_selector: str = ""
    ) -> ResourceListWatch[Object]:
        """List and watch of one selection, as a reflector takes it."""
        from proreus.client.resources.list_watch import ResourceListWatch

        return ResourceListWatch(self._scope, label_selector, field_selector)
