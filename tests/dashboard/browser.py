"""What a browser does with the dashboard, without one: keeps its cookie, says where it is."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from ssl import SSLContext
from typing import Any

import aiohttp
from multidict import CIMultiDictProxy

from proreus.aio.clock import Clock, SystemClock
from proreus.cli.dashboard_mount import served_dashboard
from proreus.dashboard.dashboard import Dashboard
from proreus.testing.server import RunningServer


@dataclass(frozen=True, slots=True)
class Seen:
    status: int
    headers: CIMultiDictProxy[str]
    body: bytes

    def json(self) -> Any:
        from proreus.api.wire import json

        return json.decode(self.body)


@dataclass(slots=True)
class Browser:
    """``cookie`` and ``csrf`` once logged in; a test may put others there."""

    url: str
    http: aiohttp.ClientSession
    dashboard: Dashboard
    tls: SSLContext | bool = True
    cookie: str = ""
    csrf: str = ""
    headers: dict[str, str] = field(default_factory=dict)

    def sent_headers(self, method: str, extra: dict[str, str]) -> dict[str, str]:
        sent = {"Origin": self.url} | ({"X-CSRF-Token": self.csrf} if method != "GET" else {})
        if self.cookie:
            sent["Cookie"] = f"proreus_session={self.cookie}"
        return {name: value for name, value in {**sent, **self.headers, **extra}.items() if value}

    async def ask(self, method: str, path: str, body: Any = None, **extra: str) -> Seen:
        """``extra`` headers, with ``_`` for ``-``; one that is empty is not sent."""
        named = {name.replace("_", "-"): value for name, value in extra.items()}
        async with self.http.request(
            method, f"{self.url}/dashboard{path}", json=body, allow_redirects=False,
            headers=self.sent_headers(method, named), ssl=self.tls,
        ) as answer:  # fmt: skip
            return Seen(answer.status, answer.headers, await answer.read())

    async def log_in(self, token: str) -> None:
        seen = await self.ask("POST", "/login", {"token": token})
        assert seen.status == 204, seen
        self.keep_cookie(seen)
        self.csrf = (await self.ask("GET", "/session")).json()["csrfToken"]

    def keep_cookie(self, seen: Seen) -> None:
        name, _, value = seen.headers["Set-Cookie"].partition(";")[0].partition("=")
        assert name == "proreus_session"
        self.cookie = value

    def stream(self, path: str) -> Any:
        """An answer that is read as it comes."""
        return self.http.get(
            f"{self.url}/dashboard{path}", headers=self.sent_headers("GET", {}), ssl=self.tls
        )

    def websocket(self, path: str, *protocols: str, **extra: str) -> Any:
        return self.http.ws_connect(
            f"{self.url}/dashboard{path}", protocols=protocols,
            headers=self.sent_headers("GET", extra), ssl=self.tls,
        )  # fmt: skip


@asynccontextmanager
async def browsing(
    server: RunningServer, clock: Clock | None = None, tls: SSLContext | bool = True
) -> AsyncIterator[Browser]:
    async with (
        served_dashboard(server.api, clock or SystemClock()) as dashboard,
        aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as http,
    ):
        yield Browser(server.url, http, dashboard, tls)
