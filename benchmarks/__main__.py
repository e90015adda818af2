"""Run all benchmarks, or the ones named: ``python -m benchmarks [storage watch_cache …]``."""

from __future__ import annotations

import importlib
import os
import pkgutil
import platform
import sys

import benchmarks
from benchmarks.report import table

NOT_BENCHMARKS = {"__main__", "report", "well_known"}


def main() -> None:
    names = sys.argv[1:] or sorted(
        module.name
        for module in pkgutil.iter_modules(benchmarks.__path__)
        if module.name not in NOT_BENCHMARKS and not module.name.startswith("_")
    )
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores, {platform.machine()}")
    for name in names:
        rows = importlib.import_module(f"benchmarks.{name}").run()
        print(f"\n{name}\n{table(rows)}", flush=True)


if __name__ == "__main__":
    main()
