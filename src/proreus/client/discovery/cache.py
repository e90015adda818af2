"""Discovery as the rest of the client uses it: asked once, kept in memory and on disk.

A name that is not found may have appeared since; then, and only then, the server is asked again,
at most once per lookup and never twice at once. What is not found is not remembered.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from proreus.client.discovery.mapper import RestMapper, UnknownResource

if TYPE_CHECKING:  # loaded when first asked: built-in resources need no discovery
    from proreus.client.discovery.client import DiscoveryClient
    from proreus.client.discovery.disk_cache import DiskCache
    from proreus.client.discovery.documents import DiscoverySnapshot
    from proreus.client.rest.client import RestClient

log = logging.getLogger(__name__)
_Found = TypeVar("_Found")


class CachedDiscovery:
    """The mapper of one server, current enough for what is asked."""

    def __init__(self, rest: RestClient) -> None:
        self._rest = rest
        self._mapper: RestMapper | None = None
        self._may_read_disk = True
        self._refreshing = asyncio.Lock()

    @cached_property
    def live(self) -> DiscoveryClient:
        """What the server says now."""
        from proreus.client.discovery.client import DiscoveryClient

        return DiscoveryClient(self._rest)

    @cached_property
    def _disk(self) -> DiskCache | None:
        from proreus.client.discovery.disk_cache import DiskCache, cache_root

        config = self._rest.config
        if not config.disk_cache:
            return None
        root = config.cache_dir or cache_root(os.environ)
        return DiskCache(root, config.host, self._rest.clock) if root else None

    async def mapper(self) -> RestMapper:
        """The present one, from memory, disk or the server."""
        if self._mapper is None:
            async with self._refreshing:
                if self._mapper is None:
                    cached = self._read_disk()
                    if cached is None:
                        return await self._fetch()
                    self._mapper = RestMapper(cached.api_resources())
        return self._mapper

    async def find(self, lookup: Callable[[RestMapper], _Found]) -> _Found:
        """``lookup``'s result, with one refresh before it may fail with ``UnknownResource``."""
        mapper = await self.mapper()
        try:
            return lookup(mapper)
        except UnknownResource:
            async with self._refreshing:
                if self._mapper is mapper or self._mapper is None:
                    mapper = await self._fetch()
                else:
                    mapper = self._mapper  # another task refreshed while we waited
            return lookup(mapper)

    def invalidate(self) -> None:
        """Forget, so that the next lookup asks the server; the files on disk are ignored too."""
        self._mapper = None
        self._may_read_disk = False

    def _read_disk(self) -> DiscoverySnapshot | None:
        return self._disk.read() if self._disk is not None and self._may_read_disk else None

    async def _fetch(self) -> RestMapper:
        snapshot = await self.live.fetch()
        for gv, why in snapshot.failures.items():
            log.warning("discovery of %s failed: %s", gv, why)
        if self._disk is not None:
            self._disk.write(snapshot)
        self._mapper = RestMapper(snapshot.api_resources())
        return self._mapper
