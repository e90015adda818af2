"""How long plugins take to admit writes, as plain numbers until they are scraped."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from proreus.server.histogram import BucketCounts

_BUCKETS_S = (0.005, 0.025, 0.1, 0.5, 1.0, 2.5)


@dataclass(slots=True, eq=False)
class HalfTimes:
    """Of a plugin's half, or of all halves in a row (``name`` ""), by operation."""

    name: str
    type: str  # "admit", "validate"
    passed: dict[str, BucketCounts] = field(default_factory=dict)
    refused: dict[str, BucketCounts] = field(default_factory=dict)

    def add(self, operation: str, seconds: float, *, is_refused: bool = False) -> None:
        counts = self.refused if is_refused else self.passed
        found = counts.get(operation)
        if found is None:
            found = counts[operation] = BucketCounts(_BUCKETS_S)
        found.add(seconds)

    def counted(self) -> Iterator[tuple[str, str, BucketCounts]]:
        """Operation, whether it was refused, how long it took."""
        for operation, counts in self.passed.items():
            yield operation, "false", counts
        for operation, counts in self.refused.items():
            yield operation, "true", counts


@dataclass(frozen=True, slots=True)
class AdmissionTimes:
    """``halves`` in the order in which they run; ``step``: of all of them."""

    now: Callable[[], float]
    halves: tuple[HalfTimes, ...]
    step: HalfTimes

    @classmethod
    def of(cls, type_: str, names: Iterator[str], now: Callable[[], float]) -> AdmissionTimes:
        return cls(now, tuple(HalfTimes(name, type_) for name in names), HalfTimes("", type_))
