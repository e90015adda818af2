"""Clients of many webhooks: one pool of connections for each configuration that is in use."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from proreus.aio.clock import Clock
from proreus.aio.started_tasks import StartedTasks
from proreus.server.webhooks.client import Resolve, WebhookClient
from proreus.server.webhooks.client_config import WebhookClientConfig
from proreus.server.webhooks.users import WebhookUsers


class WebhookClients:
    """``run`` owns the closing of clients that nobody names any more. ``users``: who the server is
    to them; to those that are not named there it says nothing."""

    def __init__(self, resolve: Resolve, clock: Clock, users: WebhookUsers | None = None) -> None:
        self._resolve = resolve
        self._users = users or WebhookUsers()
        self._clock = clock
        self._clients: dict[WebhookClientConfig, WebhookClient] = {}
        self._retiring = StartedTasks()

    def of(self, config: WebhookClientConfig) -> WebhookClient:
        found = self._clients.get(config)
        if found is None:
            user = self._users.of(config.address)
            found = WebhookClient(config, self._resolve, self._clock, user)
            self._clients[config] = found
        return found

    def keep(self, configs: AbstractSet[WebhookClientConfig]) -> None:
        """Close the others; their calls under way are still answered."""
        for config in self._clients.keys() - configs:
            self._retiring.start(self._clients.pop(config).retire())

    async def run(self) -> None:
        """For ever."""
        try:
            await self._retiring.run()
        finally:
            for client in self._clients.values():
                await client.close()

    def __repr__(self) -> str:
        return f"<WebhookClients of {len(self._clients)} webhooks>"
