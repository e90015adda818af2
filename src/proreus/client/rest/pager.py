"""Large lists in pages: each page one request, the whole one consistent state.

The first page fixes the version of the list; later pages carry only the continue token. A token
lives some minutes: when it has expired, ``collect`` starts over with one full list, while ``pages``
raises ``Expired``, because what it has handed out cannot be taken back.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace

from proreus.api.object_list import ObjectList
from proreus.api.object_type import Object
from proreus.api.status import Expired
from proreus.client.rest.calls import ListCall

PAGE_SIZE = 500


# One LIST request.
ListPage = Callable[[ListCall], Awaitable[ObjectList[Object]]]


async def pages(
    list_page: ListPage[Object], *, page_size: int = PAGE_SIZE, resource_version: str = ""
) -> AsyncIterator[ObjectList[Object]]:
    """Page after page; all bear the first one's version."""
    page = await list_page(ListCall(resource_version=resource_version, limit=page_size))
    version = page.resource_version
    yield page
    while page.continue_token:
        page = await list_page(ListCall(limit=page_size, continue_token=page.continue_token))
        yield replace(page, resource_version=version)


async def collect(
    list_page: ListPage[Object], *, page_size: int = PAGE_SIZE, resource_version: str = ""
) -> ObjectList[Object]:
    """All pages as one list; a continue token that expired costs one full list instead."""
    found: ObjectList[Object] | None = None
    try:
        async for page in pages(list_page, page_size=page_size, resource_version=resource_version):
            if found is None:
                found = replace(page, continue_token="", remaining_item_count=None)
            else:
                found.items.extend(page.items)
    except Expired:
        if found is None:
            raise
        return await list_page(ListCall(resource_version=resource_version))
    assert found is not None, "there is always a first page"
    return found
