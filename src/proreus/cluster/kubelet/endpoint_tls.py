"""The TLS of the endpoints of kubelets, once for all of a process. Light, as ``settings``."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from proreus.aio.clock import Clock
from proreus.cluster.kubelet.settings import KubeletSettings

if TYPE_CHECKING:
    import ssl

    from proreus.client import ClientConfig


class EndpointTls:
    """Found or made when the first kubelet asks: two of them at it would mix up their files."""

    def __init__(self, settings: KubeletSettings, clock: Clock) -> None:
        self._settings = settings
        self._clock = clock
        self._making = asyncio.Lock()
        self._is_made = False
        self._made: ssl.SSLContext | None = None

    async def context(self, config: ClientConfig) -> ssl.SSLContext | None:
        """None if ``config`` names no authority: then no client could be authenticated."""
        from proreus.cluster.kubelet.server import endpoint_context

        async with self._making:
            if not self._is_made:
                self._made = await asyncio.to_thread(
                    endpoint_context,
                    config,
                    [self._settings.host],
                    folder=self._settings.folder,
                    now=self._clock.now(),
                )
                self._is_made = True
        return self._made
