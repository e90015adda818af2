"""The webhooks of all definitions: kept while a definition names the same, and closed after."""

from __future__ import annotations

from collections.abc import Coroutine, Mapping
from typing import Any

from proreus.aio.clock import Clock
from proreus.aio.started_tasks import StartedTasks
from proreus.server.custom.conversion.webhook import ConversionWebhook, WebhookTarget
from proreus.server.webhooks.client import Resolve


class Webhooks:
    """``run`` owns what watches wait for: conversions that no request awaits."""

    def __init__(self, resolve: Resolve, clock: Clock) -> None:
        self._resolve = resolve
        self._clock = clock
        self._by_definition: dict[str, ConversionWebhook] = {}
        self._tasks = StartedTasks()

    def of(self, name: str, conversion: Mapping[str, Any]) -> ConversionWebhook | None:
        """The webhook of a definition; None if it has none."""
        if conversion.get("strategy") != "Webhook":
            self.forget(name)
            return None
        target = WebhookTarget.of(conversion.get("webhook") or {})
        found = self._by_definition.get(name)
        if found is None or found.target != target:
            self.forget(name)
            found = ConversionWebhook(target, self._resolve, self._clock)
            self._by_definition[name] = found
        return found

    def forget(self, name: str) -> None:
        """The definition is gone, or says something else; calls under way are still answered."""
        gone = self._by_definition.pop(name, None)
        if gone is not None:
            self.start(gone.retire())

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Before the server runs, or after, no watch waits for it: nothing is done."""
        self._tasks.start(work)

    async def run(self) -> None:
        """For ever."""
        try:
            await self._tasks.run()
        finally:
            for webhook in self._by_definition.values():
                await webhook.close()

    def __repr__(self) -> str:
        return f"<Webhooks of {len(self._by_definition)} definitions>"
