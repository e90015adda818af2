"""The notes application in Chromium: what one person writes, the others see."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from playwright.async_api import Browser, Page, expect

from tests.chromium import IS_MISSING, WHY_SKIPPED, chromium
from tests.ports import reserved_port

NOTES = Path(__file__).parents[2] / "examples" / "notes"
_PATIENCE_MS = 60_000

pytestmark = pytest.mark.skipif(IS_MISSING, reason=WHY_SKIPPED)


@contextmanager
def running_app(port: int, file: Path) -> Iterator[str]:
    """As its docstring says; its address."""
    process = subprocess.Popen(
        [sys.executable, "-m", "uvicorn", "--app-dir", str(NOTES), "app:app"]
        + ["--port", str(port), "--log-level", "error", "--timeout-graceful-shutdown", "0"],
        env={**os.environ, "NOTES_FILE": str(file)},
    )  # fmt: skip
    url, give_up = f"http://127.0.0.1:{port}", time.monotonic() + 60
    try:
        while not _answers(url):
            assert process.poll() is None and time.monotonic() < give_up
            time.sleep(0.05)
        yield url
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(timeout=60)


def _answers(url: str) -> bool:
    try:
        return httpx.get(url, timeout=60).status_code == 200
    except httpx.TransportError:
        return False


async def signed_in(browser: Browser, url: str, name: str) -> Page:
    context = await browser.new_context()
    context.set_default_timeout(_PATIENCE_MS)
    page = await context.new_page()
    await page.goto(url)
    await page.fill("input[name=name]", name)
    await page.click("text=Sign in")
    await expect(page.locator("#state")).to_have_text("live", timeout=_PATIENCE_MS)
    return page


async def write(page: Page, text: str) -> None:
    area = page.locator("textarea")
    await area.fill(text)
    await area.blur()


async def sees(page: Page, text: str) -> None:
    await expect(page.locator("textarea")).to_have_value(text, timeout=_PATIENCE_MS)


async def test_what_one_person_writes_others_see_without_losing_anything(tmp_path: Path) -> None:
    with reserved_port() as port:
        async with chromium() as browser:
            with running_app(port, tmp_path / "notes.db") as url:
                ann, bob = [await signed_in(browser, url, name) for name in ("ann", "bob")]
                await ann.click("#add")
                await write(ann, "<img src=x onerror=document.title='owned'>")
                await sees(bob, "<img src=x onerror=document.title='owned'>")
                assert await bob.title() == "Notes"

                # Both have the note before them; ann is faster, and bob is not to undo that.
                await bob.locator("textarea").focus()
                async with ann.expect_response(lambda answer: answer.request.method == "PUT"):
                    await write(ann, "ann's")
                await write(bob, "bob's")
                meanwhile = "meanwhile ann wrote: ann's"
                await expect(bob.locator("#state")).to_have_text(meanwhile, timeout=_PATIENCE_MS)
                await sees(ann, "ann's")

            # The server is away; what is written while a page is cut off arrives afterwards.
            await expect(bob.locator("#state")).to_have_text("reconnecting", timeout=_PATIENCE_MS)
            with running_app(port, tmp_path / "notes.db") as url:
                carol = await signed_in(browser, url, "carol")
                await sees(carol, "ann's")
                await write(carol, "carol's")
                await sees(ann, "carol's")
                await carol.click("text=Remove")
                await expect(ann.locator("li")).to_have_count(0, timeout=_PATIENCE_MS)
