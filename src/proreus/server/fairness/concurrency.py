"""How many seats each priority level has, and how many it lends or borrows. Pure.

A level's nominal seats are its part of the server's, by shares. It lends at most ``lendable`` of
them and borrows at most its limit. Every ten seconds the seats are given anew by what levels used:
each keeps what it needs of its own, and what is left is divided in proportion to demand.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from proreus.lazy_dataclass import dataclass

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
    """What a level wanted in a period: at most, on the whole, and how that was spread."""

    highest: int
    smooth: float
    mean: float = 0.0
    deviation: float = 0.0


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
        envelope, mean, deviation = float(self._highest), 0.0, 0.0
        if self._seconds > 0:
            mean = self._weighted / self._seconds
            deviation = math.sqrt(max(0.0, self._squares / self._seconds - mean * mean))
            envelope = min(envelope, mean + deviation)
        self._smooth = max(envelope, _SMOOTHING * self._smooth + (1 - _SMOOTHING) * envelope)
        found = SeatDemand(self._highest, self._smooth, mean, deviation)
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

    fraction = _largest_fraction(
        [(lowest[name], bound.most, targets[name]) for name, bound in limits.items()], total
    )
    return {
        name: max(
            1, round(min(float(bound.most), max(float(lowest[name]), fraction * targets[name])))
        )
        if bound.most
        else 0
        for name, bound in limits.items()
    }


def _largest_fraction(levels: Sequence[tuple[int, int, float]], total: int) -> float:
    """By which all targets can be multiplied, each then kept between its level's least and most,
    so that they are ``total`` together at most. ``levels``: least, most, target.

    What is given is a line between two fractions where a level reaches its least or its most, and
    does not fall: the first such fraction that gives too much ends the line that the answer is on.
    """

    def given(fraction: float) -> float:
        return sum(
            min(float(most), max(float(least), fraction * target)) for least, most, target in levels
        )

    bends = sorted({bend / target for least, most, target in levels for bend in (least, most)})
    before = 0.0
    for bend in bends:
        if (end := given(bend)) > total:
            begin = given(before)
            share = (total - begin) / (end - begin) if end > begin else 0.0
            return before + (bend - before) * max(0.0, share)
        before = bend
    return before
