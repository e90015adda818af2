"""The dashboard's modules are checked by TypeScript's checker, as Python's are by mypy."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
_PATIENCE_S = 240


@pytest.fixture(scope="session")
def checker(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """TypeScript of the pinned version, installed by its name."""
    if shutil.which("npm") is None or shutil.which("node") is None:
        pytest.skip("npm and node are not installed: the dashboard's types are not checked")
    folder = tmp_path_factory.mktemp("typescript")
    for name in ("package.json", "package-lock.json"):
        shutil.copy(HERE / name, folder)
    install = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline"]
    done = subprocess.run(install, cwd=folder, capture_output=True, text=True, timeout=_PATIENCE_S)
    if done.returncode != 0:
        pytest.skip(f"npm cannot install TypeScript here: {done.stderr.strip()[-300:]}")
    return folder / "node_modules" / ".bin" / "tsc"


def test_the_modules_of_the_page_are_well_typed(checker: Path) -> None:
    command = [str(checker), "--project", str(HERE), "--pretty", "false"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=_PATIENCE_S)

    assert done.returncode == 0, done.stdout


def test_every_module_asks_to_be_checked() -> None:
    page = HERE.parents[1] / "src" / "proreus" / "dashboard" / "page"

    silent = [path.name for path in page.rglob("*.js") if not path.read_text().startswith("// @ts")]

    assert silent == []
