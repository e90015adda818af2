"""Ask a server what it serves: two requests where it can aggregate, one per version elsewhere.

A server may know only a part (an extension of it is down). Then what was found is returned with the
failures beside it, and everything that was found keeps working.
"""

from __future__ import annotations

import asyncio

from proreus.api.group_version import GroupVersion
from proreus.api.json_types import JsonObject
from proreus.api.status import ApiError, NotFound
from proreus.api.wire import json
from proreus.client.discovery.documents import (
    AGGREGATED,
    DiscoverySnapshot,
    from_aggregated,
    group_entry,
    group_list,
    is_aggregated,
)
from proreus.client.rest.client import RestClient
from proreus.client.rest.request import JSON, RestRequest
from proreus.net.client.transport_error import TransportError

_ACCEPT = f"{AGGREGATED},{JSON}"
_ASKED_AT_ONCE = 16


class DiscoveryClient:
    """Live answers; ``discovery.cache`` keeps them."""

    def __init__(self, rest: RestClient) -> None:
        self._rest = rest

    async def fetch(self) -> DiscoverySnapshot:
        """All groups and resources. Tried once more if the first answer was partial."""
        found = await self._fetch()
        return await self._fetch() if found.failures else found

    async def version(self) -> JsonObject:
        """What ``/version`` says."""
        said: JsonObject = await self._rest.get_json(RestRequest("get", "GET", "/version"))
        return said

    async def _fetch(self) -> DiscoverySnapshot:
        try:
            async with asyncio.TaskGroup() as both:
                asked_core = both.create_task(self._ask("/api"))
                asked_named = both.create_task(self._ask("/apis"))
        except ExceptionGroup as failed:
            raise failed.exceptions[0] from None  # they fail alike, and one is what callers expect
        core, core_is_new = asked_core.result()
        named, named_is_new = asked_named.result()
        if core_is_new and named_is_new:
            return from_aggregated(core, named)
        return await self._fetch_each(_legacy_groups(core, named))

    async def _ask(self, path: str) -> tuple[JsonObject, bool]:
        try:
            answer = await self._rest.send(RestRequest("get", "GET", path, accept=_ACCEPT))
        except NotFound:
            return {}, True  # a server may serve no core group, or nothing else
        return json.decode(answer.body), is_aggregated(answer.headers.get("Content-Type"))

    async def _fetch_each(self, groups: JsonObject) -> DiscoverySnapshot:
        found = DiscoverySnapshot(groups, {})
        resources: dict[GroupVersion, JsonObject] = {}
        failures: dict[GroupVersion, str] = {}
        turn = asyncio.Semaphore(_ASKED_AT_ONCE)

        async def ask(gv: GroupVersion) -> None:
            async with turn:
                try:
                    resources[gv] = await self._rest.get_json(RestRequest("get", "GET", gv.path))
                except (ApiError, TransportError, json.JSONDecodeError) as problem:
                    failures[gv] = str(problem)

        async with asyncio.TaskGroup() as each:
            for gv in found.group_versions():
                each.create_task(ask(gv))
        return DiscoverySnapshot(groups, resources, failures)


def _legacy_groups(core: JsonObject, named: JsonObject) -> JsonObject:
    """APIVersions and APIGroupList as one list; an aggregated half is read for its names."""
    groups: list[JsonObject] = []
    if versions := core.get("versions"):
        served = [GroupVersion("", version) for version in versions]
        groups.append(group_entry("", served, preferred=served[0]))
    for document in (core, named):
        if document.get("items"):
            groups += from_aggregated(document, {}).groups["groups"]
    groups += named.get("groups") or []
    return group_list(groups)
