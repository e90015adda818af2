"""One benchmark, in a process of its own: ``python -m benchmarks._one NAME FILE``.

So that its figures are the same alone and among others: no heap, thread or setting of another
benchmark is in its process, and one that fails ends none but itself.
"""

from __future__ import annotations

import argparse
import datetime
import importlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from benchmarks._command import ROOT, add_peers, peers_of
from benchmarks._peers import Peers
from benchmarks._results import pace, record
from benchmarks._results.record import Figure, Machine, Results, Run
from benchmarks.report import Row

# The longest take minutes, on a busy machine some times as long: what takes more hangs.
_TIME_MAX_S = 1800.0


def in_a_process(name: str, peers: Peers) -> Run:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.json"
        command = [sys.executable, "-m", "benchmarks._one", name, str(path), *peers.flags()]
        try:
            failure = _failure_of(command)
        except subprocess.TimeoutExpired:
            failure = f"it took longer than {_TIME_MAX_S / 60:.0f} minutes and was ended"
        if not failure:
            return record.read(path).runs[0]
    return replace(_run(name, lambda: []), failure=failure)


def _failure_of(command: list[str]) -> str:
    """Empty, or why it ended without figures. Raises TimeoutExpired; then all it started is gone:
    servers of a benchmark are in its process group."""
    with subprocess.Popen(
        command, cwd=ROOT, stderr=subprocess.PIPE, text=True, process_group=0
    ) as process:
        try:
            _, said = process.communicate(timeout=_TIME_MAX_S)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    sys.stderr.write(said)
    if process.returncode == 0:
        return ""
    last_line = (said.strip().splitlines() or ["nothing was printed"])[-1]
    return f"exit code {process.returncode}: {last_line}"


def _run(name: str, measure: Callable[[], list[Row]]) -> Run:
    at = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    before, began = pace.samples_ms(), time.monotonic()
    figures = tuple(Figure.of(row) for row in measure())
    wall_s = time.monotonic() - began
    return Run(
        benchmark=name,
        at=at,
        commit=_commit(),
        machine=Machine(),
        pace=pace.Pace.of(before + pace.samples_ms()),
        load=os.getloadavg()[0],
        wall_s=wall_s,
        figures=figures,
    )


def _commit() -> str:
    """``unknown`` outside of a repository; a plus says that the tree differs from the commit."""
    try:
        asked = ["git", "describe", "--always", "--exclude=*", "--dirty=+"]
        return subprocess.run(
            asked, cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("name")
    parser.add_argument("file", type=Path)
    add_peers(parser)
    given = parser.parse_args()
    peers = peers_of(given)
    if peers.etcd is not None:
        os.environ["PROREUS_TEST_ETCD"] = str(peers.etcd)
    module = importlib.import_module(f"benchmarks.{given.name}")

    def measure() -> list[Row]:
        rows = list(module.run())
        if peers.are_given and hasattr(module, "run_peers"):
            rows += module.run_peers(peers)
        return rows

    given.file.write_bytes(record.written(Results((_run(given.name, measure),))))


if __name__ == "__main__":
    main()
