"""What is kept of a run, and the files it is kept in.

A file is ``{"format": 1, "runs": [Run, …]}``, each run of one benchmark; docs/performance.md names
the fields. ``latest.json`` has the newest run of every benchmark, whichever command made it.
"""

from __future__ import annotations

import os
import platform
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec

from benchmarks._results import pace
from benchmarks._results.pace import Pace
from benchmarks.report import Row

FORMAT = 1
LATEST = "latest.json"
# By how much a figure differs from run to run where nobody measured it.
_USUAL_NOISE = {pace.Scaling.COST: 0.10, pace.Scaling.RATE: 0.15, pace.Scaling.NONE: 0.03}


class UnreadableResults(Exception):
    """The file is not one of ours, or of another format."""


@dataclass(frozen=True, slots=True)
class Machine:
    python: str = field(default_factory=platform.python_version)
    cores: int = field(default_factory=lambda: os.cpu_count() or 1)
    architecture: str = field(default_factory=platform.machine)
    system: str = field(default_factory=platform.system)


@dataclass(frozen=True, slots=True)
class Figure:
    """A row, with by how much it may differ from run to run without meaning anything."""

    question: str
    value: float
    unit: str
    target: float | None = None
    higher_is_better: bool = False
    noise: float = 0.0
    peer: str = ""

    @classmethod
    def of(cls, row: Row) -> Figure:
        noise = max(row.spread, _USUAL_NOISE[pace.scaling_of(row.unit)])
        is_higher = row.higher_is_better
        return cls(row.question, row.value, row.unit, row.target, is_higher, noise, row.peer)


@dataclass(frozen=True, slots=True)
class Run:
    """One benchmark, run once or several times."""

    benchmark: str
    at: str
    commit: str
    machine: Machine
    pace: Pace
    load: float
    wall_s: float
    figures: tuple[Figure, ...] = ()
    failure: str = ""


@dataclass(frozen=True, slots=True)
class Results:
    runs: tuple[Run, ...] = ()
    format: int = FORMAT

    def of(self, benchmark: str) -> Run | None:
        return next((run for run in self.runs if run.benchmark == benchmark), None)


def merged(newer: Results, older: Results) -> Results:
    """Every benchmark's newest run that did not fail; the order is that of names."""
    runs = {run.benchmark: run for run in older.runs}
    runs |= {run.benchmark: run for run in newer.runs if not run.failure}
    return Results(tuple(runs[name] for name in sorted(runs)))


def middle(runs: Sequence[Run]) -> Run:
    """Of several runs of one benchmark: middle figures, whose noise is at least their spread."""
    failed = next((run for run in runs if run.failure), None)
    if failed is not None or len(runs) == 1:
        return failed or runs[0]
    by_key = [dict(keyed(run.figures)) for run in runs]
    figures = tuple(
        _middle_figure([figures[key] for figures in by_key if key in figures]) for key in by_key[0]
    )
    return replace(
        runs[-1],
        figures=figures,
        pace=Pace(
            statistics.median(run.pace.ms for run in runs), max(run.pace.spread for run in runs)
        ),
        load=max(run.load for run in runs),
        wall_s=sum(run.wall_s for run in runs),
    )


def keyed(figures: Iterable[Figure]) -> list[tuple[tuple[str, str, int], Figure]]:
    """With what names a figure: who, the question, and which of those that are called the same."""
    seen: dict[tuple[str, str], int] = {}
    found = []
    for figure in figures:
        name = (figure.peer, figure.question)
        seen[name] = seen.get(name, 0) + 1
        found.append(((*name, seen[name]), figure))
    return found


def written(results: Results) -> bytes:
    return msgspec.json.format(msgspec.json.encode(results)) + b"\n"


def read(path: Path) -> Results:
    try:
        results = msgspec.json.decode(path.read_bytes(), type=Results)
    except (OSError, msgspec.DecodeError) as error:
        raise UnreadableResults(f"{path}: {error}") from error
    if results.format != FORMAT:
        raise UnreadableResults(f"{path} has format {results.format}, this program reads {FORMAT}")
    return results


def keep(results: Results, folder: Path) -> Path:
    """In a file of its own and in ``latest.json``; those of a run that goes on replace it."""
    folder.mkdir(parents=True, exist_ok=True)
    path = path_of(results, folder)
    path.write_bytes(written(results))
    (folder / LATEST).write_bytes(written(merged(results, last(folder))))
    return path


def path_of(results: Results, folder: Path) -> Path:
    """Named by the time at which the first benchmark began, and its commit."""
    first = results.runs[0]
    return folder / f"{first.at.replace(':', '')}-{first.commit}.json"


def last(folder: Path) -> Results:
    path = folder / LATEST
    return read(path) if path.exists() else Results()


def _middle_figure(figures: list[Figure]) -> Figure:
    values = [figure.value for figure in figures]
    value = statistics.median(values)
    spread = (max(values) - min(values)) / 2 / abs(value) if value else 0.0
    return replace(figures[0], value=value, noise=max(figures[0].noise, spread))
