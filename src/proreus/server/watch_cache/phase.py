"""The phases of a watch, and which may follow which.

    Starting ─▶ Replaying ─▶ Live ─▶ Closed          Ending ─▶ Closed
                   ▲  too slow │        ▲
                   └───────────┘  Parked┘  (asked for a revision that is still to come)

Every phase may end in Closed. ``WatcherPhases.move`` makes the transitions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from proreus.lazy_dataclass import dataclass
from proreus.server.watch_cache.object import CachedObject


@dataclass(slots=True)
class Starting:
    """The initial state is being written; then history from ``position`` on.

    ``objects`` are those that can match, the first ``done`` of them written or passed over.
    """

    objects: Sequence[CachedObject]
    position: int
    done: int = 0
    end_mark: int | None = None  # the revision of the bookmark that ends the initial events

    def __str__(self) -> str:
        return f"starting, {self.done} of {len(self.objects)} objects read"


@dataclass(slots=True)
class Replaying:
    """History is being written from ``position`` on."""

    position: int

    def __str__(self) -> str:
        return "catching up"


@dataclass(frozen=True, slots=True)
class Parked:
    """Everything up to ``until`` is to be passed over; nothing after it exists yet."""

    until: int

    def __str__(self) -> str:
        return f"waiting for a revision after {self.until}"


@dataclass(frozen=True, slots=True)
class Live:
    """Gets every change in the turn it is made."""

    def __str__(self) -> str:
        return "live"


@dataclass(frozen=True, slots=True)
class Ending:
    """Will be closed in the next turn, with an ERROR event if there is a status."""

    reason: str
    status: Mapping[str, Any] | None = None

    def __str__(self) -> str:
        return f"ending: {self.reason}"


@dataclass(frozen=True, slots=True)
class Closed:
    reason: str

    def __str__(self) -> str:
        return f"closed: {self.reason}"


Phase = Starting | Replaying | Parked | Live | Ending | Closed

NEXT: Mapping[type[Phase], tuple[type[Phase], ...]] = {
    Starting: (Replaying, Closed),
    Replaying: (Live, Closed),
    Parked: (Live, Closed),
    Live: (Replaying, Closed),
    Ending: (Closed,),
    Closed: (),
}
