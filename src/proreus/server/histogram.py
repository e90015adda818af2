"""Observations counted in buckets: plain numbers until they are scraped."""

from __future__ import annotations

from bisect import bisect_left
from itertools import accumulate

from proreus.server.prometheus import edge

# Kubernetes' bounds for how long requests take, its clients' and its own to etcd.
REQUEST_BUCKETS_S = (0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0,
                     4.0, 5.0, 6.0, 8.0, 10.0, 15.0, 20.0, 30.0, 45.0, 60.0)  # fmt: skip


class BucketCounts:
    """``bounds`` are upper bounds, in order; what is above the last one is counted, too.

    Where every request counts, the caller adds what is not above ``first`` to ``lowest`` and
    ``total`` itself: nearly all is, and a call costs more than the addition.
    """

    __slots__ = ("_bounds", "_counts", "first", "lowest", "total")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self._bounds = bounds
        self._counts = [0] * (len(bounds) + 1)  # the first of them stays 0
        self.first = bounds[0]
        self.lowest = 0
        self.total = 0.0

    def add(self, value: float, times: int = 1) -> None:
        if value <= self.first:
            self.lowest += times
        else:
            self._counts[bisect_left(self._bounds, value)] += times
        self.total += value * times

    def add_all(self, other: BucketCounts) -> None:
        """What was counted in the same buckets."""
        counts = zip(self._counts, other._counts, strict=True)
        self._counts = [own + further for own, further in counts]
        self.lowest += other.lowest
        self.total += other.total

    def __len__(self) -> int:
        return self.lowest + sum(self._counts)

    def buckets(self, kept: tuple[float, ...] | None = None) -> list[tuple[str, float]]:
        """As Prometheus wants them: upper bounds and how many were not above. ``kept``: those of
        interest, if not all."""
        sums = list(accumulate(self._counts, initial=self.lowest))[1:]
        chosen = self._bounds if kept is None else kept
        found = [(edge(bound), float(sums[self._bounds.index(bound)])) for bound in chosen]
        return [*found, ("+Inf", float(sums[-1]))]
