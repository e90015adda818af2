"""One word per idea: names that a reader has to learn once."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "proreus"
# ``blocking`` mirrors the client, name by name; its classes are the same idea without ``await``.
MIRROR = "blocking"
SHARED_NAMES = {
    "Plan": "what one sync of a controller is to do: each controller has its own",
    "Request": "controller-runtime's word for a reconciled key, and HTTP's own",
}
Trees = dict[str, ast.Module]
# Words that hide which mechanism is meant: authorize, validate, report, render, old, snapshot …
VAGUE_WORDS = {
    "told", "tells", "judge", "judged", "judgement", "shown", "shows", "moment", "former",
    "standing", "stranger", "strangers", "fences", "laborious", "whatever",
}  # fmt: skip
VAGUE_IN_TESTS = {"told", "tells", "judge", "judged", "shown", "fences"}


@pytest.fixture(scope="module")
def trees() -> Trees:
    return {
        path.relative_to(SOURCE).as_posix(): ast.parse(path.read_text())
        for path in sorted(SOURCE.rglob("*.py"))
    }


def words(name: str) -> set[str]:
    return {part.lower() for part in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)}


def test_no_two_public_classes_share_a_name(trees: Trees) -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for path, tree in trees.items():
        if path.startswith(MIRROR):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(f"{path}:{node.lineno}")

    shared = {
        name: found for name, found in places.items() if len(found) > 1 and name not in SHARED_NAMES
    }
    assert not shared, f"one idea has one class, different ideas have different names: {shared}"


def test_names_use_the_words_of_the_field(trees: Trees) -> None:
    vague: list[str] = []
    for path, tree in trees.items():
        if words(Path(path).stem) & VAGUE_WORDS:
            vague.append(path)
        for node in ast.walk(tree):
            if (
                isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
                and words(node.name) & VAGUE_WORDS
            ):
                vague.append(f"{path}:{node.lineno} {node.name}")

    assert not vague, f"say what these do in the field's own words: {vague}"


def test_tests_are_named_in_the_same_words() -> None:
    vague = [
        f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"
        for path in sorted((ROOT / "tests").rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and words(node.name) & VAGUE_IN_TESTS
    ]

    assert not vague, f"say what is promised in the field's own words: {vague}"
