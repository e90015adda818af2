"""pytest in a process of its own, as users of the plugin run it."""

from __future__ import annotations

import importlib.metadata
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
_PLUGIN = "proreus.testing.pytest_plugin"
UNUSED = ("randomly", "hypothesispytest")  # the second takes a fifth of such a process' time
_DEADLINE_S = 300  # of a run that hangs


def run_pytest(folder: Path, *arguments: str, without: tuple[str, ...] = ()) -> str:
    """What it prints; every test must pass. ``without``: plugins that are installed here and may
    be missing elsewhere."""
    registered = importlib.metadata.entry_points(group="pytest11", name="proreus")
    given = [] if registered else ["-p", _PLUGIN]  # an environment that is older than the plugin
    given += [part for name in (*UNUSED, *without) for part in ("-p", f"no:{name}")]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--rootdir", str(folder), *given, *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=_DEADLINE_S,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
