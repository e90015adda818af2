"""The webhooks of all definitions: kept while a definition names the same, and closed after."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping
from typing import Any

from proreus.aio.clock import Clock
from proreus.server.custom.webhook import ConversionWebhook, Resolve, Target


class Webhooks:
    """``run`` owns what watches wait for: conversions nobody's request awaits."""

    def __init__(self, resolve: Resolve, clock: Clock) -> None:
        self._resolve = resolve
        self._clock = clock
        self._by_definition: dict[str, ConversionWebhook] = {}
        self._tasks: asyncio.TaskGroup | None = None

    def of(self, name: str, conversion: Mapping[str, Any]) -> ConversionWebhook | None:
        """The webhook of a definition; None if it has none."""
        if conversion.get("strategy") != "Webhook":
            self.forget(name)
            return None
        target = Target.of(conversion.get("webhook") or {})
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
        if self._tasks is None:
            work.close()  # before the server runs, or after: nobody waits for it
        else:
            self._tasks.create_task(work)

    async def run(self) -> None:
        """For ever."""
        try:
            async with asyncio.TaskGroup() as tasks:
                self._tasks = tasks
                await asyncio.Event().wait()
        finally:
            self._tasks = None
            for webhook in self._by_definition.values():
                await webhook.close()

    def __repr__(self) -> str:
        return f"<Webhooks of {len(self._by_definition)} definitions>"
