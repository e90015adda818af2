"""The connections to one webhook, kept between calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from proreus.net.client.connectors import Route
    from proreus.net.client.http_client import HttpClient


class WebhookConnections:
    """``route`` is asked at the first call, and may raise then."""

    def __init__(self, route: Callable[[], Route]) -> None:
        self._route = route
        self._client: HttpClient | None = None
        self._is_retired = False

    def client(self) -> HttpClient:
        if self._client is None:
            from proreus.net.client.http_client import HttpClient

            self._client = HttpClient(self._route())
        return self._client

    async def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    async def retire(self) -> None:
        """Close once the calls under way are answered; one that comes late closes after itself."""
        self._is_retired = True
        client, self._client = self._client, None
        if client is not None:
            await client.retire()

    async def after_call(self) -> None:
        """To be awaited after each call, also one that failed."""
        if self._is_retired:
            await self.close()
