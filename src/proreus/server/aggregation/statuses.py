"""Writes the condition ``Available`` of API services, if it has changed."""

from __future__ import annotations

import structlog

from proreus.aio.clock import Clock
from proreus.api.status import Conflict, NotFound
from proreus.server.aggregation.api_service import is_available
from proreus.server.aggregation.availability import Availability, with_condition
from proreus.server.aggregation.metrics import AggregationMetrics
from proreus.server.registry.collection import Collection
from proreus.server.registry.verbs.update import replacing
from proreus.server.registry.write import Write

_log = structlog.get_logger(__name__)
_ATTEMPTS = 5


class Statuses:
    def __init__(self, services: Collection, metrics: AggregationMetrics, clock: Clock) -> None:
        self._services = services
        self._metrics = metrics
        self._clock = clock

    async def write(self, name: str, found: Availability) -> None:
        """Raises StorageError, ApiError."""
        for _ in range(_ATTEMPTS):
            stored = await self._services.store.get(self._services.key("", name))
            if stored is None:
                return
            obj = self._services.decode(stored)
            was_available = is_available(obj)
            self._metrics.observe(name, found, was_available=was_available)
            status = with_condition(obj.get("status") or {}, found, self._clock.now())
            if status is None:
                return
            write = Write.of_server(self._services, "", name, self._clock.now())
            write.subresource = "status"
            try:
                await replacing(write, {**obj, "status": status}).commit()
            except Conflict:
                continue  # it has changed meanwhile
            except NotFound:
                return
            if was_available != found.is_available:
                _log.info(
                    "API service changed its availability",
                    name=name,
                    available=found.is_available,
                    reason=found.reason,
                    message=found.message,
                )
            return

    def forget(self, name: str) -> None:
        self._metrics.forget(name)
