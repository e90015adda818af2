"""Keeps the service ``kubernetes``, by which programs in the cluster find its API servers.

Its Endpoints and EndpointSlice have the addresses of all servers that are alive. They are written
when a server starts, compared every ten seconds, and written without this server when it ends; one
that died is left out when its record has expired (``live_servers``).
"""

from __future__ import annotations

from collections.abc import Callable

import structlog

from proreus.aio.clock import Clock, deadline
from proreus.aio.supervised_part import Worked
from proreus.api.status import AlreadyExists, ApiError, Conflict, NotFound
from proreus.server.membership import endpoints
from proreus.server.membership.live_servers import LiveServers, OnlyServer
from proreus.server.registry.collections import Collections
from proreus.server.registry.server_objects import ServerObject, ensure_object
from proreus.server.registry.verbs.create import Create
from proreus.server.registry.verbs.update import replacing
from proreus.server.registry.write import Write
from proreus.server.storage.interface import StorageError

_log = structlog.get_logger(__name__)
_EVERY_S = 10.0
_WITHDRAW_S = 2.0
_ADDRESS = "10.0.0.1"  # the first of the range


class KubernetesService:
    """``port`` is asked when needed: it is known once the server is bound."""

    def __init__(
        self,
        collections: Collections,
        servers: LiveServers | OnlyServer,
        clock: Clock,
        port: Callable[[], int],
    ) -> None:
        self._collections = collections
        self._services = collections.named("", "v1", "services")
        self._servers = servers
        self._clock = clock
        self._port = port
        self._is_published = False

    async def publish(self) -> None:
        """At the start: the service leads to this server's port. Raises ApiError, StorageError."""
        await self._make_service()
        await self._publish(await self._servers.renew())
        self._is_published = True

    async def run(self, worked: Worked) -> None:
        """For ever; ``worked`` is called each time all is as it should be."""
        if not self._is_published:
            await self.publish()
        while True:
            worked()
            await self._clock.sleep(_EVERY_S)
            if self._services.cache.peek(f"{endpoints.NAMESPACE}/{endpoints.NAME}") is None:
                await self._make_service()
            await self._publish(await self._servers.renew())

    async def withdraw(self) -> None:
        """At the end. What cannot be written in time is for the others, when the record expires."""
        try:
            async with deadline(self._clock, _WITHDRAW_S):
                await self._publish(await self._servers.withdraw())
        except (ApiError, StorageError, TimeoutError) as why:
            _log.warning("this server is still among the endpoints of kubernetes", why=str(why))

    async def _publish(self, addresses: list[str]) -> None:
        of_one_family = [one for one in addresses if (":" in one) == (":" in addresses[0])]
        port = self._port()
        is_among = self._servers.address in addresses
        mend = endpoints.mended if is_among else endpoints.mended_by_another
        for plural, wanted in (
            ("endpoints", endpoints.endpoints(of_one_family, port)),
            ("endpointslices", endpoints.endpoint_slice(of_one_family, port)),
        ):
            made = ServerObject.of(plural, wanted)
            await ensure_object(self._collections, made, self._clock.now(), mend)

    async def _make_service(self) -> None:
        """By the verbs, which claim its address."""
        wanted = endpoints.service(_ADDRESS, self._port())
        name, namespace = endpoints.NAME, endpoints.NAMESPACE
        write = Write.of_server(self._services, namespace, name, self._clock.now())
        stored = await self._services.store.get(self._services.key(namespace, name))
        try:
            if stored is None:
                await Create(write, wanted).commit()
            else:
                changed = endpoints.mended_service(self._services.decode(stored), wanted)
                if changed is not None:
                    await replacing(write, changed).commit()
        except (AlreadyExists, NotFound, Conflict):
            return  # another server is at it
