"""Whether a figure meets its target, and whether it changed. Pure."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks._results import pace
from benchmarks._results.record import Figure, Results, Run, keyed


class Verdict(enum.Enum):
    NONE = ""  # it has no target
    OK = "ok"
    SLOW = "slow"  # missed here, and met at the reference pace: the machine's doing
    MISSED = "MISSED"


def ratio(figure: Figure, pace_ms: float = pace.REFERENCE_MS) -> float | None:
    """How much of its allowance the figure takes, at the reference pace; above 1 it is missed."""
    if figure.target is None:
        return None
    value = pace.at_reference(figure.value, figure.unit, pace_ms)
    taken, allowed = (figure.target, value) if figure.higher_is_better else (value, figure.target)
    return taken / allowed if allowed else float("inf") if taken else 0.0


def verdict(figure: Figure, pace_ms: float) -> Verdict:
    as_measured, at_reference = ratio(figure), ratio(figure, pace_ms)
    if as_measured is None or at_reference is None:
        return Verdict.NONE
    if as_measured <= 1:
        return Verdict.OK
    return Verdict.SLOW if at_reference <= 1 else Verdict.MISSED


def missed(results: Results) -> list[tuple[str, Figure]]:
    """What ``--strict`` refuses: our own figures that miss their targets on any machine."""
    return [
        (run.benchmark, figure)
        for run in results.runs
        for figure in run.figures
        if verdict(figure, run.pace.ms) is Verdict.MISSED
    ]


@dataclass(frozen=True, slots=True)
class Comparison:
    """One figure of two runs, both at the reference pace."""

    benchmark: str
    figure: Figure
    old: float
    new: float
    noise: float

    @property
    def ratio(self) -> float:
        return self.new / self.old if self.old else float("inf") if self.new else 1.0

    @property
    def is_changed(self) -> bool:
        """By more than its noise, in either direction."""
        return max(self.ratio, 1 / self.ratio if self.ratio else float("inf")) > 1 + self.noise

    @property
    def word(self) -> str:
        if not self.is_changed:
            return ""
        return "better" if (self.ratio > 1) == self.figure.higher_is_better else "WORSE"


def comparisons(new: Results, old: Results) -> Iterator[Comparison]:
    """Of every figure that both have in the same unit."""
    for run in new.runs:
        before = old.of(run.benchmark)
        if before is not None:
            yield from _of_runs(run, before)


def _of_runs(new: Run, old: Run) -> Iterator[Comparison]:
    known = dict(keyed(old.figures))
    for key, figure in keyed(new.figures):
        before = known.get(key)
        if before is not None and before.unit == figure.unit:
            is_paced = pace.scaling_of(figure.unit) is not pace.Scaling.NONE
            restless = new.pace.spread + old.pace.spread if is_paced else 0.0
            yield Comparison(
                new.benchmark,
                figure,
                pace.at_reference(before.value, before.unit, old.pace.ms),
                pace.at_reference(figure.value, figure.unit, new.pace.ms),
                max(figure.noise, before.noise) + restless,
            )
