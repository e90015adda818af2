"""Setting up a checkout: what a machine that lacks something is told."""

from __future__ import annotations

import subprocess
import sys
import types
from pathlib import Path

import pytest
from tools import browser, fastest_python, set_up

ROOT = Path(__file__).parents[2]


def test_a_python_that_is_too_old_is_refused_in_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 9, 2, "final", 0))

    assert set_up.main(str(tmp_path / "venv"), "constraints.txt") == 1

    said = capsys.readouterr().err
    assert said.startswith("proreus needs Python 3.11 or newer and ")
    assert said.count("\n") == 1
    assert not (tmp_path / "venv").exists()


def test_the_oldest_python_is_the_one_the_package_names() -> None:
    oldest = ".".join(map(str, set_up.OLDEST))

    assert f'requires-python = ">={oldest}"' in (ROOT / "pyproject.toml").read_text()


def test_a_make_without_python_says_what_to_install(tmp_path: Path) -> None:
    done = subprocess.run(
        ["make", "up", "PYTHON=python-of-nobody", f"VENV={tmp_path / 'venv'}"],
        cwd=ROOT, capture_output=True, text=True, timeout=60,
    )  # fmt: skip

    assert done.returncode != 0
    assert "python-of-nobody is not here: install Python 3.11 or newer" in done.stderr


@pytest.mark.parametrize(
    ("home", "flags"),
    [(None, []), (str(Path(sys._base_executable).parent), []), ("/of/another", ["--clear"])],  # type: ignore[attr-defined]
)
def test_an_environment_of_another_python_is_made_anew(
    tmp_path: Path, home: str | None, flags: list[str]
) -> None:
    if home is not None:
        (tmp_path / "pyvenv.cfg").write_text(f"home = {home}\nversion = 3.11.2\n")

    assert set_up._clear_flag(str(tmp_path)) == flags


@pytest.mark.parametrize(
    ("others", "chosen"),
    [({"/a": 0.6}, "/a"), ({"/a": 0.6, "/b": 0.5}, "/b"), ({"/a": 0.95}, "own"), ({}, "own"),
     ({"/of another version": float("inf")}, "own")],
)  # fmt: skip
def test_a_build_of_python_that_is_clearly_faster_is_used(
    monkeypatch: pytest.MonkeyPatch, others: dict[str, float], chosen: str
) -> None:
    monkeypatch.setattr(sys, "executable", "own")
    monkeypatch.setattr(fastest_python, "_others", lambda own: list(others))
    monkeypatch.setattr(fastest_python, "_seconds", {**others, "own": 1.0}.__getitem__)

    assert fastest_python.fastest() == chosen


def test_builds_are_timed_and_what_is_no_python_of_this_version_is_not(tmp_path: Path) -> None:
    other = tmp_path / "python3"
    other.write_text("#!/bin/sh\necho 0.0001 3 8\n")
    other.chmod(0o755)

    assert 0 < fastest_python._seconds(sys.executable) < 60
    assert fastest_python._seconds(str(other)) == float("inf")
    assert fastest_python._seconds(str(tmp_path / "absent")) == float("inf")


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("Collecting cel-expr-python==0.1.3 (from -r c.txt (line 1))", "cel-expr-python"),
        ("Processing /w/rpds_py-2026.9.1-cp311.whl (from -r c.txt (line 2))", "rpds_py"),
        ("Requirement already satisfied: click==8.5.1 in /v", "click"),
        ("Ignoring uvloop: markers 'sys_platform' don't match", "uvloop"),
    ],
)
def test_progress_names_the_package_that_pip_is_at(line: str, name: str) -> None:
    found = set_up._STEP.match(line)

    assert found is not None
    assert found["name"] == name


def test_without_apt_it_says_that_tests_of_pages_are_skipped(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    nothing = types.SimpleNamespace(which=lambda name: None)
    monkeypatch.setattr(browser, "shutil", nothing)

    browser.main()

    assert capsys.readouterr().err == (
        "chromium: it is not here, and only root on Debian or Ubuntu can install it; "
        "tests of pages will be skipped\n"
    )
