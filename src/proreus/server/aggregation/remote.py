"""One group version of another API server: whether it is there, and what it serves.

    check → write the condition → ask for discovery → wait: 30 seconds, or for a change

A failed check is repeated sooner, with a growing delay. Checks are few at once, however many
servers hang. Requests go through if the object's condition says so, not by what was found here:
servers that share a store agree.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import structlog

from proreus.aio.backoff import Backoff
from proreus.aio.clock import Clock, deadline
from proreus.api.json_types import Json, JsonObject
from proreus.api.status import ApiError
from proreus.lazy_dataclass import dataclass
from proreus.server.aggregation import discovered
from proreus.server.aggregation.api_service import ApiService
from proreus.server.aggregation.availability import PASSED, Availability, failed_check, of_service
from proreus.server.aggregation.backend import Address, Backend, BackendError, place
from proreus.server.aggregation.front_proxy_headers import AGGREGATOR, front_proxy_headers
from proreus.server.aggregation.statuses import Statuses
from proreus.server.discovery.api_services import ApiServices, RemoteVersion
from proreus.server.discovery.openapi.merging import RemoteSpec
from proreus.server.offload import Lane
from proreus.server.storage.interface import StorageError
from proreus.server.webhooks.client_config import ServiceReference
from proreus.server.webhooks.service_resolver import UnresolvedService

if TYPE_CHECKING:
    from proreus.net.client.http_client import HttpResponse

_log = structlog.get_logger(__name__)
_CHECK_AGAIN_S = 30.0
_ANSWER_S = 5.0
_SPEC_S = 60.0
_DOCUMENT_BYTES_MAX = 16 * 1024 * 1024
_TIMED_OUT = "context deadline exceeded"

# A service and its endpoint slices, as they are now.
Behind = Callable[[ServiceReference], tuple[Json | None, Sequence[Json]]]


@dataclass(frozen=True, slots=True)
class RemoteParts:
    """What all remotes of a server have in common. ``checks`` bounds those at once."""

    behind: Behind
    statuses: Statuses
    table: ApiServices
    checks: asyncio.Semaphore
    lane: Lane
    clock: Clock


class Remote:
    """``service`` is the present object; its ``backend`` never changes: see ``Remotes``."""

    def __init__(self, service: ApiService, backend: Backend, parts: RemoteParts) -> None:
        self.service = service
        self.backend = backend
        self._parts = parts
        self._found = RemoteVersion()
        self._etag = ""
        self._spec: RemoteSpec | None = None
        self._spec_until = -math.inf
        self._changed = asyncio.Event()
        self._backoff = Backoff(parts.clock, initial_s=0.2, cap_s=_CHECK_AGAIN_S, jitter=0.2)

    def update(self, service: ApiService) -> None:
        """Of an object that was written, with the same backend."""
        self.service = service
        self.publish()

    def note_change(self) -> None:
        """Its service or endpoints have changed."""
        self._changed.set()

    def publish(self) -> None:
        """What discovery says of it."""
        self._parts.table.put(self.service.group_version, self.service.priority, self._found)

    async def run(self) -> None:
        """For ever."""
        while True:
            self._changed.clear()
            try:
                delay_s = await self._look()
            except (ApiError, StorageError) as why:
                delay_s = self._backoff.next()
                _log.warning(
                    "condition of an API service cannot be written",
                    name=self.service.name,
                    error=str(why),
                )
            try:
                async with deadline(self._parts.clock, delay_s):
                    await self._changed.wait()
            except TimeoutError:
                continue

    async def _look(self) -> float:
        """After how long to look again."""
        async with self._parts.checks:
            found = await self.check()
            await self._parts.statuses.write(self.service.name, found)
            self._found = await self._discovered() if found.is_available else RemoteVersion()
        self.publish()
        if found.is_available or found.reason != "FailedDiscoveryCheck":
            self._backoff.reset()
            return _CHECK_AGAIN_S
        return self._backoff.next()

    async def check(self) -> Availability:
        assert self.service.backend is not None, "only remote services are checked"
        reference = self.service.backend.service
        found = of_service(reference, *self._parts.behind(reference))
        if found is not None:
            return found
        try:
            addresses = self.backend.addresses()
        except UnresolvedService as error:
            return failed_check(str(error))
        return await self._ask_all(addresses)

    async def _ask_all(self, addresses: Sequence[Address]) -> Availability:
        """One answer is enough."""
        why = ""
        async with asyncio.TaskGroup() as asking:
            tasks = [asking.create_task(self._ask(address)) for address in addresses]
            for task in asyncio.as_completed(tasks):
                why = await task
                if not why:
                    for other in tasks:
                        other.cancel()
                    return PASSED
        return failed_check(why)

    async def _ask(self, address: Address) -> str:
        """Why the server does not count as available, "" if it does."""
        path = self.service.group_version.path
        url = f"https://{place(address)}{path}"
        headers = front_proxy_headers(AGGREGATOR)
        try:
            status = await self.backend.probe(address, path, headers, _ANSWER_S)
        except BackendError as error:
            why = str(error)
            if why == _TIMED_OUT:
                why += " (Client.Timeout exceeded while awaiting headers)"
            return f'failing or missing response from {url}: Get "{url}": {why}'
        if 200 <= status < 300:
            return ""
        return f"failing or missing response from {url}: bad status from {url}: {status}"

    async def _discovered(self) -> RemoteVersion:
        try:
            resources = await self._resources()
            return RemoteVersion(resources, True, await self._openapi_url())
        except (BackendError, discovered.UnreadableDiscovery, ApiError) as why:
            _log.warning("discovery of an API service failed", name=self.service.name, why=str(why))
            self._etag = ""
            return RemoteVersion()

    async def _resources(self) -> Sequence[JsonObject]:
        """Raises BackendError, UnreadableDiscovery."""
        where, lane = self.service.group_version, self._parts.lane
        headers = {"Accept": [f"{discovered.AGGREGATED},application/json"]}
        if self._etag:
            headers["If-None-Match"] = [self._etag]
        answer = await self._get("/apis", headers)
        if answer.status == 304 and self._etag:
            return self._found.resources
        is_new = discovered.is_aggregated(answer.headers.get("Content-Type"))
        if answer.status == 200 and is_new:
            found = await lane.run(lambda: discovered.from_aggregated(answer.body, where))
            self._etag = answer.headers.get("ETag")
            return found
        self._etag = ""
        if answer.status == 503:
            raise BackendError(f"/apis was answered with {answer.status}")
        own = await self._get(where.path, {"Accept": ["application/json"]})
        if own.status != 200:
            raise BackendError(f"{where.path} was answered with {own.status}")
        return await lane.run(lambda: discovered.from_resource_list(own.body))

    async def _openapi_url(self) -> str:
        """Not every server has one."""
        try:
            answer = await self._get("/openapi/v3", {"Accept": ["application/json"]})
        except BackendError:
            return ""
        if answer.status != 200:
            return ""
        where = self.service.group_version
        return await self._parts.lane.run(lambda: discovered.openapi_url(answer.body, where))

    async def openapi_spec(self) -> RemoteSpec | None:
        """The OpenAPI v2 document of its server, asked for once a minute at most. None: there is
        none, or it cannot be had now and was never."""
        now = self._parts.clock.monotonic()
        if now >= self._spec_until:
            self._spec_until = now + _SPEC_S
            try:
                answer = await self._get("/openapi/v2", {"Accept": ["application/json"]})
            except BackendError:
                return self._spec
            if answer.status == 200:
                self._spec = RemoteSpec(self.service.group_version, answer.body)
        return self._spec

    async def _get(self, path: str, headers: dict[str, list[str]]) -> HttpResponse:
        return await self.backend.get(
            path,
            {**front_proxy_headers(AGGREGATOR), **headers},
            timeout_s=_ANSWER_S,
            bytes_max=_DOCUMENT_BYTES_MAX,
        )

    def __repr__(self) -> str:
        state = "available" if self.service.is_available else "unavailable"
        return f"<Remote {self.service.name}, {state}, {self.backend!r}>"
