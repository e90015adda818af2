"""``make docs``: every link leads somewhere, every public name is there, every diagram is drawn."""

from __future__ import annotations

import functools
import http.server
import importlib
import re
import shutil
import subprocess
import sys
import threading
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.documentation.blocks import DOCS, ROOT, blocks_of

# Packages whose public names the reference has, each under ``:::``.
PUBLIC = ("proreus.client", "proreus.blocking", "proreus.testing", "proreus.embedded")
MERMAID = ROOT / "build" / "mermaid" / "mermaid.min.js"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built strictly, as ``make docs`` does."""
    pytest.importorskip("mkdocs", reason="the extra docs is not installed")
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--site-dir", str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return folder


def test_every_link_of_the_site_leads_somewhere(site: Path) -> None:
    """mkdocs warns of links and anchors that are not there, and a warning ends a strict build."""
    assert (site / "index.html").exists()
    assert (
        site / "source" / "src" / "proreus" / "server" / "watch_cache" / "cache.py.html"
    ).exists()


def test_nothing_is_fetched_from_elsewhere(site: Path) -> None:
    loads = re.compile(
        r"<(?:script|link|img|iframe)\b[^>]*\b(?:src|href)=[\"']?(?:https?:)?//[^>]*>"
    )
    found = {
        str(page.relative_to(site)): match[0]
        for page in site.rglob("*.html")
        if (match := loads.search(page.read_text()))
    }

    assert not found


@pytest.mark.parametrize("package", PUBLIC)
def test_the_reference_has_every_public_name(package: str, site: Path) -> None:
    inventory = (site / "objects.inv").read_bytes().split(b"\n", 4)[4]
    named = {line.split(" ")[0] for line in zlib.decompress(inventory).decode().splitlines()}

    missing = [
        name
        for name in importlib.import_module(package).__all__
        # A function that is called like its module is under both names.
        if not {f"{package}.{name}", f"{package}.{name}.{name}"} & named
    ]

    assert not missing


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    """The site, served on loopback: a browser lets no script of a file read the file."""
    handler = functools.partial(_Quiet, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        serving = threading.Thread(target=server.serve_forever)
        serving.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        serving.join()


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *arguments: object) -> None:
        pass


def test_mermaid_draws_every_diagram_and_nothing_else_is_asked_for(address: str) -> None:
    chromium = shutil.which("chromium")
    if not MERMAID.exists() or not chromium:
        pytest.skip("needs `make docs` (mermaid from npm) and chromium (Debian: chromium)")
    sync_api = pytest.importorskip("playwright.sync_api")
    pages = {
        path.relative_to(DOCS).with_suffix(".html").as_posix(): len(diagrams)
        for path in DOCS.rglob("*.md")
        if (diagrams := [b for b in blocks_of("", path.read_text()) if b.language == "mermaid"])
    }
    asked: list[str] = []

    with sync_api.sync_playwright() as playwright:
        flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run"]
        flags += ["--disable-background-networking", "--disable-component-update", "--disable-sync"]
        with playwright.chromium.launch(executable_path=chromium, args=flags) as browser:
            page = browser.new_page()
            page.on("request", lambda request: asked.append(request.url))
            for name, count in pages.items():
                page.goto(f"{address}/{name}")
                # Each drawing stands in a closed shadow root of a div, in place of the text.
                page.wait_for_function(
                    f"document.querySelectorAll('div.mermaid').length == {count}", timeout=60_000
                )
                assert page.locator("pre.mermaid").count() == 0

    assert pages and all(url.startswith((address, "data:", "blob:")) for url in asked)
