"""``explore`` tells operators with a planted bug from their mended twins."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from proreus.testing.explore import Settings, run_exploration
from tests.testing.corpus.scaffold import Case, definitions

FOLDER = Path(__file__).parent / "corpus"
NAMES = sorted(file.stem for file in FOLDER.glob("*.py") if file.stem != "scaffold")


def case(name: str) -> Case:
    found = importlib.import_module(f"tests.testing.corpus.{name}").CASE
    assert isinstance(found, Case)
    return found


def test_the_corpus_has_all_classes_of_bugs() -> None:
    assert len(NAMES) >= 12


@pytest.mark.parametrize("name", NAMES)
def test_a_planted_bug_is_found(name: str) -> None:
    found = case(name)
    settings = Settings(invariants=found.invariants)

    report = run_exploration(found.test(found.buggy), settings, definitions)

    assert report.findings
    assert isinstance(report.findings[0].plan.faults[0], found.found_by), str(report.findings[0])


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_found_in_the_mended_operator(name: str) -> None:
    found = case(name)
    settings = Settings(invariants=found.invariants)

    report = run_exploration(found.test(found.mended), settings, definitions)

    assert not report.findings, str(report.findings[0])
    assert report.run_count == report.planned > 0
