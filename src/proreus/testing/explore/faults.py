"""What can go wrong at one point of a run. ``str`` names it, for people and for replays.

Only what Kubernetes allows: a watch is in the order of versions and misses nothing, unless it
expires (410) and the collection is listed again; watches of different kinds know nothing of each
other; a list at version 0 may be of any age; a write that was not answered may have been done.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from proreus.testing.explore.points import EventPoint, WritePoint


class WriteFailure(StrEnum):
    """How a write is answered."""

    CONFLICT = "conflict"  # 409: somebody else has changed the object
    ERROR = "internal error"  # 500: it was not done
    LOST = "answer lost"  # the connection breaks: it was done


@dataclass(frozen=True, slots=True)
class Crash:
    """The program ends in the middle of a write, which is done (``after``) or is not, and starts
    again."""

    write: WritePoint
    is_after: bool

    def __str__(self) -> str:
        return f"crash {'after' if self.is_after else 'before'} {self.write}"


@dataclass(frozen=True, slots=True)
class Fail:
    write: WritePoint
    failure: WriteFailure

    def __str__(self) -> str:
        return f"{self.failure} at {self.write}"


@dataclass(frozen=True, slots=True)
class Delay:
    """The event, and all that follow it on its watch, come late; other watches do not."""

    event: EventPoint

    def __str__(self) -> str:
        return f"delay {self.event}"


@dataclass(frozen=True, slots=True)
class Hide:
    """The event is never seen: when the newer one of the same object comes, the watch has expired
    and the collection is listed again. ``is_awaited``: the newer one was not the program's doing,
    so it comes whatever the program does."""

    event: EventPoint
    newer: EventPoint
    is_awaited: bool

    def __str__(self) -> str:
        return f"hide {self.event} until {self.newer}"


@dataclass(frozen=True, slots=True)
class Repeat:
    """The watch expires right after the event, so that all objects are sent again."""

    event: EventPoint

    def __str__(self) -> str:
        return f"repeat everything after {self.event}"


@dataclass(frozen=True, slots=True)
class Stale:
    """The program crashes and starts again on an API server whose cache is as it was at the
    ``view``-th quiet moment (0: when the test began), and catches up later. ``at``: the quiet
    moment, or the write, after which it crashes."""

    view: int
    at: int | WritePoint

    def __str__(self) -> str:
        when = (
            f"after {self.at}" if isinstance(self.at, WritePoint) else f"at quiet moment {self.at}"
        )
        return f"restart {when} on the state of quiet moment {self.view}"


@dataclass(frozen=True, slots=True)
class LeaderChange:
    """The process freezes before the write, for longer than its lease lasts; another one leads;
    then the first goes on where it was."""

    write: WritePoint

    def __str__(self) -> str:
        return f"leader change at {self.write}"


Fault = Crash | Fail | Delay | Hide | Repeat | Stale | LeaderChange


@dataclass(frozen=True, slots=True)
class Plan:
    """The faults of one run, usually one."""

    faults: tuple[Fault, ...]

    def __str__(self) -> str:
        return " + ".join(map(str, self.faults)) or "nothing goes wrong"
