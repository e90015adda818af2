"""What a benchmark answers with: rows, each a question, a figure and the target it has to meet.

A target is declared here and nowhere else: where its row is made. See CONTRIBUTING.md.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Row:
    """One question, unique within its benchmark.

    ``target`` is the limit; ``higher_is_better`` says on which side it lies. ``spread`` is how far
    rounds of the same run lay apart, as a share of the value, where a benchmark has rounds. A row
    of a ``peer`` (the program that was measured in our place) repeats the question of our own row.
    """

    question: str
    value: float
    unit: str
    target: float | None = None
    higher_is_better: bool = False
    spread: float = 0.0
    peer: str = ""


def row_of(
    question: str,
    rounds: Sequence[float],
    unit: str,
    target: float | None = None,
    *,
    higher_is_better: bool = False,
) -> Row:
    """The middle of several rounds, and how far half of them lay apart around it."""
    middle = statistics.median(rounds)
    low, _, high = statistics.quantiles(rounds, n=4)
    spread = (high - low) / 2 / abs(middle) if middle else 0.0
    return Row(question, middle, unit, target, higher_is_better, spread)


class CpuTimer:
    """CPU and wall seconds of a ``with`` body; CPU counts all threads of this process."""

    def __enter__(self) -> CpuTimer:
        self._cpu, self._wall = time.process_time(), time.perf_counter()
        return self

    def __exit__(self, *_: object) -> None:
        self.cpu_s = time.process_time() - self._cpu
        self.wall_s = time.perf_counter() - self._wall
