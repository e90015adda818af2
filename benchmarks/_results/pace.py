"""The machine's pace: how long a fixed piece of Python takes it now, in CPU time.

The same work costs twice as much CPU while others use the machine's other threads and caches.
Pace says so, and lets figures of two machines be compared. It is the interpreter's: what waits for
a disk or copies much memory follows it only roughly.
"""

from __future__ import annotations

import enum
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.report import CpuTimer

REFERENCE_MS = 34.0  # of the machine, quiet, on which the targets were set (AMD EPYC, CPython 3.11)
_ROUNDS = 8
_TIMES = {"ns", "µs", "ms", "s"}


class Scaling(enum.Enum):
    """How a figure follows the machine's pace."""

    COST = "cost"
    RATE = "rate"
    NONE = "none"


def scaling_of(unit: str) -> Scaling:
    if unit.removesuffix(" CPU").removesuffix(" of") in _TIMES:
        return Scaling.COST
    if "/s" in unit or unit.startswith("per s"):
        return Scaling.RATE
    return Scaling.NONE


def at_reference(value: float, unit: str, pace_ms: float) -> float:
    """The figure as a machine of the reference pace would have it."""
    slower = pace_ms / REFERENCE_MS
    match scaling_of(unit):
        case Scaling.COST:
            return value / slower
        case Scaling.RATE:
            return value * slower
        case Scaling.NONE:
            return value


@dataclass(frozen=True, slots=True)
class Pace:
    """``ms`` is the best of what was measured before and after a benchmark, as its figures mostly
    are the best or the middle of rounds; ``spread`` says by how much the middle lay above it: how
    restless the machine was."""

    ms: float = REFERENCE_MS
    spread: float = 0.0

    @classmethod
    def of(cls, samples_ms: Sequence[float]) -> Pace:
        best = min(samples_ms)
        return cls(best, statistics.median(samples_ms) / best - 1)


def samples_ms() -> list[float]:
    """A million additions each, CPU."""
    return [_million_ms() for _ in range(_ROUNDS)]


def _million_ms() -> float:
    with CpuTimer() as timer:
        total = 0
        for number in range(1_000_000):
            total += number
    return timer.cpu_s * 1e3
