"""A real browser: Debian's Chromium, driven by Playwright."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from playwright.async_api import Browser, async_playwright

CHROMIUM = "/usr/bin/chromium"
IS_MISSING = shutil.which(CHROMIUM) is None
WHY_SKIPPED = f"{CHROMIUM} is not installed (Debian: chromium)"
_FLAGS = [
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--no-first-run",
]  # fmt: skip


@asynccontextmanager
async def chromium() -> AsyncIterator[Browser]:
    """With a profile of its own, which is gone afterwards."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=_FLAGS)
        yield browser
        await browser.close()
