"""A benchmark's answer, and the table of all of them."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Row:
    """One question. ``target`` is the limit; ``higher_is_better`` says on which side it lies."""

    question: str
    value: float
    unit: str
    target: float | None = None
    higher_is_better: bool = False

    @property
    def verdict(self) -> str:
        if self.target is None:
            return ""
        met = self.value >= self.target if self.higher_is_better else self.value <= self.target
        return "ok" if met else "MISSED"


class CpuTimer:
    """CPU and wall seconds of a ``with`` body; CPU counts all threads of this process."""

    def __enter__(self) -> CpuTimer:
        self._cpu, self._wall = time.process_time(), time.perf_counter()
        return self

    def __exit__(self, *_: object) -> None:
        self.cpu_s = time.process_time() - self._cpu
        self.wall_s = time.perf_counter() - self._wall


def pace_row() -> Row:
    """What the machine gives now: the same work costs twice as much while others use it."""
    with CpuTimer() as timer:
        total = 0
        for number in range(1_000_000):
            total += number
    return Row("a million additions, CPU: the machine now", timer.cpu_s * 1e3, "ms")


def table(rows: Iterable[Row]) -> str:
    lines = [f"{'question':<72} {'measured':>12} {'target':>12}  unit"]
    for row in rows:
        sign = ">=" if row.higher_is_better else "<="
        target = "" if row.target is None else f"{sign} {row.target:,.6g}"
        lines.append(
            f"{row.question:<72} {row.value:>12,.6g} {target:>12}  {row.unit} {row.verdict}"
        )
    return "\n".join(lines)
