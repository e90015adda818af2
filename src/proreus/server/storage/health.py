"""The condition of a store: a closed union, one place that changes it, one log line per change.

Receives: what a store finds when it writes and when it probes.
Hands on: the health checks' answers, to ``app``; refusals of writes, in the store itself.
Invariant: Broken lasts until the store is opened anew; every other state may end.
"""

from __future__ import annotations

from typing import ClassVar, assert_never

import structlog

from proreus.lazy_dataclass import dataclass

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Healthy:
    """Reads and writes are served."""


@dataclass(frozen=True, slots=True)
class Impairment:
    """What is wrong with a store: ``event`` is logged, with what an operator does about it."""

    event: ClassVar[str]
    why: str
    remedy: str


@dataclass(frozen=True, slots=True)
class Full(Impairment):
    """Reads and deletions are served; creates and updates are refused until there is room."""

    event = "storage is full"
    remedy: str = "delete objects or make room on the disk; writing goes on by itself"


@dataclass(frozen=True, slots=True)
class ReadOnly(Impairment):
    """Reads are served; writes are refused until the file system can be written to again."""

    event = "storage is read-only"
    remedy: str = "find out why (often a failing disk) and mount it writable again"


@dataclass(frozen=True, slots=True)
class Unreachable(Impairment):
    """The store does not answer; served again as soon as it does."""

    event = "storage does not answer"
    remedy: str = "see to its servers and their quorum"


@dataclass(frozen=True, slots=True)
class Slow(Impairment):
    """Reads are served; writes wait for the disk, and are served when it answers."""

    event = "storage is slow"
    remedy: str = "see what else uses the disk, and whether it fails"


@dataclass(frozen=True, slots=True)
class Broken(Impairment):
    """What is on disk is in doubt or not ours: writes are refused until the server is restarted."""

    event = "storage failed, writes are refused"
    remedy: str = "check the disk, then restart the server"


Health = Healthy | Slow | Full | ReadOnly | Unreachable | Broken


class HealthRecord:
    """``now`` is the state of one store; only ``change`` sets it, and logs what an operator does.

    The first cause stands while a state lasts: what fails after it is mostly its consequence.
    """

    def __init__(self, store: str) -> None:
        self.now: Health = Healthy()
        self._store = store

    def change(self, to: Health) -> None:
        if type(to) is type(self.now) or isinstance(self.now, Broken):
            return
        self.now = to
        if isinstance(to, Healthy):
            _log.warning("storage works again", store=self._store)
        else:
            _log.error(to.event, store=self._store, reason=to.why, remedy=to.remedy)

    def __repr__(self) -> str:
        return f"<HealthRecord of {self._store}: {self.now}>"


def liveness(health: Health) -> str:
    """Why the process should be restarted or counts as dead; "" if it should not.

    A slow, full or read-only disk is no reason: a new process could serve less than this one.
    """
    match health:
        case Broken() | Unreachable():
            return health.why
        case Healthy() | Slow() | Full() | ReadOnly():
            return ""
        case _:
            assert_never(health)


def readiness(health: Health) -> str:
    """Why not every write can be served, or not soon; "" if all can."""
    return "" if isinstance(health, Healthy) else health.why
