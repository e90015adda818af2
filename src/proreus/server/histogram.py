"""Observations counted in buckets: plain numbers until they are scraped."""

from __future__ import annotations

from bisect import bisect_left
from itertools import accumulate


class BucketCounts:
    """``bounds`` are upper bounds, in order; what is above the last one is counted, too."""

    __slots__ = ("_bounds", "_counts", "total")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self._bounds = bounds
        self._counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def add(self, value: float, times: int = 1) -> None:
        self._counts[bisect_left(self._bounds, value)] += times
        self.total += value * times

    def add_all(self, other: BucketCounts) -> None:
        """What was counted in the same buckets."""
        counts = zip(self._counts, other._counts, strict=True)
        self._counts = [own + further for own, further in counts]
        self.total += other.total

    def __len__(self) -> int:
        return sum(self._counts)

    def buckets(self) -> list[tuple[str, float]]:
        """As Prometheus wants them: upper bounds and how many were not above. The bounds are
        written as Go writes them, because rules name them."""
        bounds = [*(f"{bound:g}" for bound in self._bounds), "+Inf"]
        return list(zip(bounds, map(float, accumulate(self._counts)), strict=True))
