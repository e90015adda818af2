"""The user's view of the types, as type checkers see it: good programs pass, mistakes do not.

``programs/mistakes.py`` is no module of the suite: its lines marked ``# refused`` are the test.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROGRAMS = Path(__file__).parent / "programs"
GOOD = sorted({*PROGRAMS.glob("*.py")} - {PROGRAMS / "mistakes.py"})
MISTAKES = PROGRAMS / "mistakes.py"

Refused = dict[Path, dict[int, str]]


def by_mypy() -> Refused:
    """One process for all programs; the cache is that of ``make check``."""
    command = [sys.executable, "-m", "mypy", "--no-error-summary", "--show-absolute-path"]
    output = _run([*command, *map(str, (*GOOD, MISTAKES))])
    found: Refused = {}
    for line in output.splitlines():
        if said := re.fullmatch(r"(.+?):(\d+): error: (.*)", line):
            found.setdefault(Path(said[1]), {})[int(said[2])] = said[3]
    return found


def by_pyright() -> Refused:
    command = [sys.executable, "-m", "basedpyright", "--outputjson", "--level", "error"]
    config = str(PROGRAMS / "pyrightconfig.json")
    output = _run([*command, "--pythonpath", sys.executable, "-p", config])
    found: Refused = {}
    for one in json.loads(output)["generalDiagnostics"]:
        line = one["range"]["start"]["line"] + 1
        found.setdefault(Path(one["file"]), {})[line] = one["message"]
    return found


@pytest.mark.parametrize("check", [by_mypy, by_pyright])
@pytest.mark.timeout(600)
def test_good_programs_pass_and_every_mistake_is_refused(check: Callable[[], Refused]) -> None:
    expected = {
        number
        for number, line in enumerate(MISTAKES.read_text().splitlines(), 1)
        if line.endswith("# refused")
    }

    refused = check()

    assert {path: refused[path] for path in GOOD if path in refused} == {}
    assert refused[MISTAKES].keys() - expected == set(), refused[MISTAKES]
    assert expected - refused[MISTAKES].keys() == set(), "these pass, and should not"


def _run(command: list[str]) -> str:
    return subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False
    ).stdout
