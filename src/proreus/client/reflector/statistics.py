"""What a reflector counts about itself, for status and metrics."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from proreus.client.reflector.state_machine import Cause


@dataclass(slots=True)
class ReflectorStatistics:
    """Times are the clock's monotonic seconds."""

    phase: str = "not started"
    last_event_at: float | None = None
    last_bookmark_at: float | None = None
    last_contact_at: float | None = None
    lists_received: int = 0
    requests_ended: Counter[Cause] = field(default_factory=Counter)
    last_failure: str = ""
    restarts: int = 0
