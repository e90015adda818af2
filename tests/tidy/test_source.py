"""Rules about the code itself. Each message says how to mend what it finds."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "proreus"
MODULES = sorted(SOURCE.rglob("*.py"))
FILE_LINES_MAX = 400
TEST_LINES_MAX = 600
FUNCTION_LINES_MAX = 60
BANNED_WORDS = {"manager", "helper", "helpers", "util", "utils", "common", "misc", "impl"}
# What a server loads; see ``lazy_dataclass`` for why these packages have a decorator of their own.
SERVER_PACKAGES = {"aio", "api", "cli", "net", "server"}
# Kubernetes' own words stay: the field is called manager.
ALLOWED_NAMES = {"managed_fields", "field_manager"}
Trees = list[tuple[Path, ast.Module]]


@pytest.fixture(scope="module")
def trees() -> Trees:
    """Parsed once, and dropped with the last test: they are millions of objects."""
    return [(module.relative_to(ROOT), ast.parse(module.read_text())) for module in MODULES]


def test_source_files_fit_in_a_readers_head() -> None:
    long = {
        str(module.relative_to(ROOT)): lines
        for module in MODULES
        if (lines := len(module.read_text().splitlines())) > FILE_LINES_MAX
    }

    assert not long, f"split these by idea (at most {FILE_LINES_MAX} lines): {long}"


def test_test_files_fit_in_a_readers_head() -> None:
    long = {
        str(module.relative_to(ROOT)): lines
        for module in sorted((ROOT / "tests").rglob("*.py"))
        if (lines := len(module.read_text().splitlines())) > TEST_LINES_MAX
    }

    assert not long, f"split these by behaviour (at most {TEST_LINES_MAX} lines): {long}"


def test_functions_fit_on_a_screen(trees: Trees) -> None:
    long = {
        f"{path}:{node.name}": lines
        for path, tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (lines := (node.end_lineno or node.lineno) - node.lineno + 1) > FUNCTION_LINES_MAX
    }

    assert not long, f"give the parts of these functions names: {long}"


def test_every_module_says_what_it_is(trees: Trees) -> None:
    silent = [str(path) for path, tree in trees if not ast.get_docstring(tree)]

    assert not silent, f"begin these with a docstring that says what they are: {silent}"


def test_each_package_has_one_dataclass_decorator(trees: Trees) -> None:
    wrong = [
        str(path)
        for path, tree in trees
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and "dataclass" in {name.name for name in node.names}
        if (node.module == "dataclasses") == (path.parts[2] in SERVER_PACKAGES)
    ]

    assert not wrong, (
        f"import dataclass from proreus.lazy_dataclass in {sorted(SERVER_PACKAGES)}, "
        f"from dataclasses elsewhere: {wrong}"
    )


def test_names_say_what_a_thing_is(trees: Trees) -> None:
    vague: list[str] = []
    for path, tree in trees:
        words = set(path.stem.split("_"))
        if words & BANNED_WORDS and path.stem not in ALLOWED_NAMES:
            vague.append(str(path))
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                parts = {part.lower() for part in re.findall(r"[A-Z][a-z]+", node.name)}
                if parts & BANNED_WORDS:
                    vague.append(f"{path}:{node.name}")

    assert not vague, f"name these by what they are: {vague}"


def test_time_comes_from_the_clock(trees: Trees) -> None:
    """aio.clock is the only reader of time, so that everything runs on a virtual one."""
    banned = {
        ("time", "time"),
        ("time", "monotonic"),
        ("time", "sleep"),
        ("asyncio", "create_task"),
        ("datetime", "now"),
        ("datetime", "utcnow"),
    }
    found: list[str] = []
    for path, tree in trees:
        if "aio" in path.parts:
            continue
        for node in ast.walk(tree):
            if (
                isinstance(node, ast.Attribute)
                and isinstance(node.value, ast.Name)
                and (node.value.id, node.attr) in banned
            ):
                found.append(f"{path}:{node.lineno} {node.value.id}.{node.attr}")
            elif (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr == "sleep"
                and ast.unparse(node.func) == "asyncio.sleep"
                and ast.unparse(node.args[0]) != "0"
            ):
                found.append(f"{path}:{node.lineno} asyncio.sleep")

    assert not found, f"take a Clock and a TaskGroup instead: {found}"


@pytest.mark.parametrize("mark", ["TODO", "FIXME", "XXX", "NotImplementedError"])
def test_nothing_is_left_half_done(mark: str) -> None:
    found = [str(m.relative_to(ROOT)) for m in MODULES if re.search(rf"\b{mark}\b", m.read_text())]

    assert not found, f"finish it or take it out: {found}"


def test_every_promise_has_a_test_that_cites_it() -> None:
    """docs/guarantees.md is a contract, not an intention."""
    promises = re.findall(r"^### (.+)$", (ROOT / "docs" / "guarantees.md").read_text(), re.M)
    tests = "\n".join(p.read_text().lower() for p in (ROOT / "tests").rglob("*.py"))

    assert promises
    unproven = [p for p in promises if f"guarantee: {p.lower()}" not in tests]
    assert not unproven, f'write a test whose docstring says "Guarantee: <name>": {unproven}'
