"""How many seats each priority level has, and how many it lends or borrows. Pure.

A level's nominal seats are its part of the server's, by shares. It lends at most ``lendable`` of
them and borrows at most its limit. Every ten seconds the seats are given anew by what levels used:
each keeps what it needs of its own, and what is left is divided in proportion to demand.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

_SMOOTHING = 0.977  # of the demand that is remembered from one adjustment to the next


@dataclass(frozen=True, slots=True)
class Bounds:
    """Of one level's seats: by its shares, after lending, after borrowing."""

    nominal: int
    least: int
    most: int


@dataclass(frozen=True, slots=True)
class Shares:
    """What a level's configuration says. ``borrowing_percent`` None: no limit."""

    shares: int
    lendable_percent: int
    borrowing_percent: int | None


def bounds(levels: Mapping[str, Shares], total: int) -> dict[str, Bounds]:
    """Of all levels together, exempt ones included: they may have shares, and seats to lend."""
    sum_of_shares = sum(level.shares for level in levels.values()) or 1
    found = {}
    for name, level in levels.items():
        nominal = math.ceil(total * level.shares / sum_of_shares)
        lendable = round(nominal * level.lendable_percent / 100)
        borrowable = (
            total if level.borrowing_percent is None else nominal * level.borrowing_percent // 100
        )
        found[name] = Bounds(nominal, nominal - lendable, nominal + borrowable)
    return found


@dataclass(frozen=True, slots=True)
class SeatDemand:
    """What a level wanted in a period: at most, and on the whole."""

    highest: int
    smooth: float


class DemandMeter:
    """Seats that one level wants, those in use and those waited for, over time."""

    __slots__ = ("_highest", "_seconds", "_smooth", "_squares", "_weighted")

    def __init__(self) -> None:
        self._smooth = 0.0
        self._begin()

    def _begin(self) -> None:
        self._highest = 0
        self._seconds = self._weighted = self._squares = 0.0

    def add(self, seats: int, seconds: float) -> None:
        """``seats`` were wanted for so long."""
        if seats > self._highest:
            self._highest = seats
        self._seconds += seconds
        self._weighted += seats * seconds
        self._squares += seats * seats * seconds

    def close(self) -> SeatDemand:
        """End the period. The smooth demand follows a rise at once and a fall slowly."""
        envelope = float(self._highest)
        if self._seconds > 0:
            mean = self._weighted / self._seconds
            variance = max(0.0, self._squares / self._seconds - mean * mean)
            envelope = min(envelope, mean + math.sqrt(variance))
        self._smooth = max(envelope, _SMOOTHING * self._smooth + (1 - _SMOOTHING) * envelope)
        found = SeatDemand(self._highest, self._smooth)
        self._begin()
        return found


def adjusted(
    limits: Mapping[str, Bounds], demands: Mapping[str, SeatDemand], total: int
) -> dict[str, int]:
    """The seats of each level for the next period."""
    lowest = {
        name: max(bound.least, min(bound.nominal, demands[name].highest))
        for name, bound in limits.items()
    }
    targets = {name: max(float(lowest[name]), demands[name].smooth, 1e-9) for name in limits}

    def given(fraction: float) -> dict[str, float]:
        return {
            name: min(float(bound.most), max(float(lowest[name]), fraction * targets[name]))
            for name, bound in limits.items()
        }

    low, high = 0.0, float(max(1, total)) * 1e9
    for _ in range(100):  # bisection: what is given grows with the fraction
        middle = (low + high) / 2
        if sum(given(middle).values()) > total:
            high = middle
        else:
            low = middle
    return {
        name: max(1, round(seats)) if limits[name].most else 0 for name, seats in given(low).items()
    }
