"""``make bench``, ``python -m benchmarks [NAME …]``: run, keep, compare (docs/performance.md)."""

from __future__ import annotations

import os
import platform
import sys

from benchmarks import _command
from benchmarks._command import Command
from benchmarks._one import in_a_process
from benchmarks._results import plots, record, tables
from benchmarks._results.record import Results, UnreadableResults
from benchmarks._results.verdict import comparisons, missed


def run(command: Command) -> Results:
    """Each benchmark's table is printed and its figures are kept as soon as they are there."""
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores, {platform.machine()}")
    results = Results()
    for name in command.names:
        repeated = [in_a_process(name, command.peers) for _ in range(command.repeat)]
        results = Results((*results.runs, record.middle(repeated)))
        record.keep(results, command.results)
        print(f"\n{tables.run_table(results.runs[-1])}", flush=True)
    return results


def kept(command: Command) -> Results:
    assert command.taken_from is not None
    results = record.read(command.taken_from)
    for one in results.runs:
        print(f"\n{tables.run_table(one)}")
    return results


def main(arguments: list[str]) -> int:
    """0; 1: a benchmark failed, or a target was missed and ``--strict`` asked; 2: no such file."""
    command = _command.parsed(arguments)
    try:
        before = record.last(command.results)
        if command.compared_with is not None:
            before = record.read(command.compared_with)
        results = kept(command) if command.taken_from is not None else run(command)
    except UnreadableResults as error:
        print(error, file=sys.stderr)
        return 2
    if command.is_compared:
        print(f"\n{tables.comparison_table(comparisons(results, before))}")
    if command.taken_from is None:
        print(f"\nkept in {record.path_of(results, command.results)}")
    picture = command.results / "latest.svg"
    picture.parent.mkdir(parents=True, exist_ok=True)
    picture.write_text(plots.ratios(results, before))
    print(f"drawn in {picture}")
    failed = [one.benchmark for one in results.runs if one.failure]
    late = missed(results)
    print(f"{len(late)} targets missed, {len(failed)} benchmarks failed")
    return 1 if failed or (command.is_strict and late) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
