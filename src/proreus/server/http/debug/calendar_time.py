"""A monotonic time as one of the calendar."""

from __future__ import annotations

from proreus.api.values.timestamp import format_micro_time
from proreus.server.http.services import Services


def calendar_time(services: Services, at_s: float | None) -> str | None:
    if at_s is None:
        return None
    return format_micro_time(services.clock.now() - (services.clock.monotonic() - at_s))
