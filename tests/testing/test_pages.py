"""The tests that the pages of docs/testing show, and those of examples/testing, pass."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from tests.testing.pytest_process import ROOT, run_pytest

_BLOCK = re.compile(r'^```python title="(?P<name>test_\w+\.py)"\n(?P<text>.*?)^```$', re.M | re.S)
_README = re.compile(r"^```python\n(?P<text>async def test_.*?)^```$", re.M | re.S)
_OPERATOR = """
from dataclasses import dataclass
from typing import Any

from proreus.client import Conflict, custom_resource
from proreus.client.operator import Operator

@dataclass
class Spec:
    html: str

@custom_resource(group="example.com", version="v1")
@dataclass
class Website:
    spec: Spec
    status: dict[str, Any] | None = None

operator = Operator("website-operator")

@operator.reconciler(Website)
async def reconcile(site):
    page = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": site.name}}
    await site.own({**page, "data": {"index.html": site.value.spec.html}})
    await site.set_status({"phase": "Served"})

shop = {"apiVersion": "example.com/v1", "kind": "Website", "metadata": {"name": "shop"},
        "spec": {"html": "<h1>Shop</h1>"}}

"""
_AUTO = ("-o", "asyncio_mode=auto")


def test_what_the_pages_and_the_readme_show_passes(tmp_path: Path) -> None:
    block = _README.search((ROOT / "README.md").read_text())
    assert block is not None, "the README shows a test"
    (tmp_path / "test_readme.py").write_text(_OPERATOR + block["text"])
    files = 1
    for page in sorted((ROOT / "docs" / "testing").glob("*.md")):
        for block in _BLOCK.finditer(page.read_text()):
            assert not (tmp_path / block["name"]).exists(), f"two files are called {block['name']}"
            (tmp_path / block["name"]).write_text(block["text"])
            files += 1

    assert files > 30
    assert f"{files} passed" in run_pytest(tmp_path, *_AUTO)


def test_what_the_examples_test_passes(tmp_path: Path) -> None:
    if shutil.which("kubectl") is None:
        pytest.skip("kubectl is not installed (Debian: kubernetes-client)")
    folder = tmp_path / "examples"
    shutil.copytree(ROOT / "examples" / "testing", folder)

    assert "9 passed" in run_pytest(folder, *_AUTO)
