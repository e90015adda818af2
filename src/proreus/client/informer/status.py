"""Watch health as values: is the cache alive, how far behind, how often reconnected, and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class HandlerStatus:
    name: str
    has_synced: bool
    pending: int
    failures: int


@dataclass(frozen=True, slots=True)
class InformerStatus:
    """An informer at one moment. Ages are None if it never happened."""

    name: str
    phase: str  # not started, listing, streaming list, watching, resting, stopped
    has_synced: bool
    object_count: int
    resource_version: str  # up to which everything has been applied to the cache
    last_event_age_s: float | None
    last_bookmark_age_s: float | None
    last_contact_age_s: float | None  # the newest answer of any kind
    lag_s: float  # how long the oldest received but unapplied delta has been waiting
    queued_deltas: int
    relists: int  # whole collections received after the first
    reconnects: int
    reconnect_causes: Mapping[str, int]
    last_failure: str
    restarts: int  # of a part of the informer that died of a bug
    handlers: tuple[HandlerStatus, ...]

    def is_healthy(self, max_age_s: float = 120.0) -> bool:
        """Synced, and the server has said something in the last ``max_age_s``: for readiness."""
        age_s = self.last_contact_age_s
        return self.has_synced and age_s is not None and age_s <= max_age_s
