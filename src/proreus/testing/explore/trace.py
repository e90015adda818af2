"""What happened in one run, in order: one timeline of all that can be seen on the wire. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from proreus.testing.explore.points import EventPoint, WritePoint

WORKLOAD = "test"


@dataclass(frozen=True, slots=True)
class Wrote:
    """A program's write and its answer; 0: it was not answered."""

    at_s: float
    who: str
    write: WritePoint
    status: int
    resource_version: str = ""
    is_guarded: bool = False  # it names the version, or the uid, that it is meant for

    def __str__(self) -> str:
        answer = {0: "no answer", 200: "ok", 201: "created"}.get(self.status, str(self.status))
        return f"{self.who}: {self.write} → {answer}"


@dataclass(frozen=True, slots=True)
class Saw:
    """An event that reached a program. Those of the beginning of a watch are not among them."""

    at_s: float
    who: str
    event: EventPoint
    resource_version: str
    stream: int  # which of its watches brought it

    def __str__(self) -> str:
        return f"{self.who} ← {self.event} (version {self.resource_version})"


@dataclass(frozen=True, slots=True)
class Listed:
    """A program was sent a whole collection."""

    at_s: float
    who: str
    resource: str
    is_stale: bool = False

    def __str__(self) -> str:
        return f"{self.who} ← list of {self.resource}{' as it was earlier' * self.is_stale}"


@dataclass(frozen=True, slots=True)
class Settled:
    """The test waited until nothing more happened; ``number`` counts from 1."""

    at_s: float
    number: int

    def __str__(self) -> str:
        return f"{WORKLOAD}: settled, {_times(self.number)}"


@dataclass(frozen=True, slots=True)
class Struck:
    """A fault, or its end."""

    at_s: float
    what: str

    def __str__(self) -> str:
        return f"*** {self.what}"


Entry = Wrote | Saw | Listed | Settled | Struck


@dataclass(slots=True)
class Trace:
    """Grows during a run."""

    entries: list[Entry] = field(default_factory=list)

    def add(self, entry: Entry) -> None:
        self.entries.append(entry)

    def writes(self, who: str) -> Iterator[Wrote]:
        return (one for one in self.entries if isinstance(one, Wrote) and one.who == who)

    def events(self, who: str) -> Iterator[Saw]:
        return (one for one in self.entries if isinstance(one, Saw) and one.who == who)

    @property
    def settled(self) -> int:
        return sum(isinstance(one, Settled) for one in self.entries)


def _times(number: int) -> str:
    return {1: "for the first time", 2: "for the second time"}.get(number, f"time {number}")
