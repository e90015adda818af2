"""The maps lead somewhere: every file, folder and function they name is there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "proreus"
# What a map may leave out in front of a path, because its chapter says it.
FROM = (ROOT, SOURCE, SOURCE / "server", SOURCE / "client", SOURCE / "cluster")
MAPS = ("ARCHITECTURE.md", "CONTRIBUTING.md", "docs/walk.md")

STOP = re.compile(r"`(?P<file>[\w/]+\.py)` `(?P<name>[\w.]+)`")
PATH = re.compile(r"`(?P<path>[a-z_0-9]+(?:/[a-z_0-9.]+)+/?)`")
WALK = (ROOT / "docs" / "walk.md").read_text()


def names_of(tree: ast.AST, prefix: str = "") -> set[str]:
    """Functions, classes and methods, as ``Class.method``."""
    found = set()
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(prefix + node.name)
            found |= names_of(node, f"{prefix}{node.name}.")
    return found


@pytest.mark.parametrize("stop", sorted(set(STOP.findall(WALK))), ids=":".join)
def test_a_stop_of_the_walk_is_a_function_of_that_file(stop: tuple[str, str]) -> None:
    file, name = stop

    assert name in names_of(ast.parse((SOURCE / file).read_text()))


def test_the_walk_has_a_write_and_an_event() -> None:
    assert len(STOP.findall(WALK)) > 20


@pytest.mark.parametrize("map_", MAPS)
def test_a_path_on_a_map_exists(map_: str) -> None:
    named = {one["path"] for one in PATH.finditer((ROOT / map_).read_text())}

    missing = {
        path
        for path in named
        if not any((start / path).exists() or (start / f"{path}.py").exists() for start in FROM)
    }

    assert named and not missing
