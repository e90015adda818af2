"""Runs with chosen figures."""

from __future__ import annotations

from benchmarks._results.pace import REFERENCE_MS, Pace
from benchmarks._results.record import Figure, Machine, Results, Run


def run(
    *figures: Figure, name: str = "storage", pace: Pace | None = None, failure: str = ""
) -> Run:
    return Run(
        benchmark=name,
        at="2026-01-02T03:04:05Z",
        commit="abc1234",
        machine=Machine("3.11.7", 2, "x86_64", "Linux"),
        pace=pace or Pace(),
        load=0.5,
        wall_s=1.0,
        figures=figures,
        failure=failure,
    )


def results(*figures: Figure, slower: float = 1.0, spread: float = 0.0) -> Results:
    """Of one benchmark, on a machine that is so many times slower than the reference."""
    return Results((run(*figures, pace=Pace(REFERENCE_MS * slower, spread)),))
