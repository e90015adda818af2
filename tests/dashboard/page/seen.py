"""What a person does with the page and sees of it.

Screenshots are written to ``docs/images`` only if the environment variable
``DASHBOARD_SCREENSHOTS`` is set: other runs leave the tree as it was.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import pytest
from playwright.async_api import Browser, BrowserContext, Locator
from playwright.async_api import Page as Tab

SESSION_LOOP = pytest.mark.asyncio(loop_scope="session")
_IMAGES = Path(__file__).parents[3] / "docs" / "images"
# Only ends a broken run: two loaded cores may take long to draw a page.
_PATIENCE_MS = 60_000


async def open_context(
    browser: Browser, color_scheme: Literal["light", "dark"] = "light"
) -> BrowserContext:
    context = await browser.new_context(
        ignore_https_errors=True,
        viewport={"width": 1280, "height": 760},
        color_scheme=color_scheme,
        permissions=["clipboard-read", "clipboard-write"],
    )
    context.set_default_timeout(_PATIENCE_MS)
    return context


@dataclass(slots=True)
class Page:
    """A tab at a server's dashboard."""

    tab: Tab
    url: str
    failures: list[str] = field(default_factory=list)

    @classmethod
    async def open(cls, context: BrowserContext, server: str) -> Page:
        opened = cls(await context.new_page(), f"{server}/dashboard/")
        opened.tab.on("pageerror", lambda error: opened.failures.append(str(error)))
        opened.tab.on("console", lambda said: opened._on_console(said.text))
        opened.tab.on("dialog", lambda dialog: opened.failures.append(f"alert {dialog.message}"))
        await opened.tab.goto(opened.url)
        return opened

    def _on_console(self, text: str) -> None:
        if "Content Security Policy" in text:
            self.failures.append(text)

    async def log_in(self, token: str) -> None:
        await self.tab.get_by_label("A token that the cluster accepts").fill(token)
        await self.tab.get_by_role("button", name="Log in").click()
        await self.tab.locator(".shell").wait_for()

    async def visit(self, place: str) -> None:
        """Where the page goes by its address: ``kinds/core/v1/pods``."""
        await self.tab.evaluate("place => { location.hash = place }", f"#/{place}")

    def row(self, text: str) -> Locator:
        """The row of a list that has the text."""
        return self.tab.locator(".row:not([hidden])", has_text=text)

    async def sees(self, text: str, within: str = "body") -> None:
        await self.tab.locator(within, has_text=text).first.wait_for()

    async def gone(self, locator: Locator) -> None:
        await locator.first.wait_for(state="hidden")

    async def module(self, path: str, expression: str) -> object:
        """What an expression over a module of the page (``m``) is."""
        script = (
            f"async () => {{ const m = await import('./assets/{path}'); return {expression}; }}"
        )
        return await self.tab.evaluate(script)

    async def photograph(self, name: str, scheme: Literal["light", "dark"] = "light") -> None:
        if os.environ.get("DASHBOARD_SCREENSHOTS"):
            _IMAGES.mkdir(exist_ok=True)
            await self.tab.emulate_media(color_scheme=scheme)
            await self.tab.screenshot(path=_IMAGES / f"{name}.png")
