"""An HTTPS server of a test's own, in the test's loop: it answers what the test sets."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from ssl import CERT_REQUIRED, PROTOCOL_TLS_SERVER, SSLContext

import trustme
from aiohttp import web

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class HttpsServer:
    """``pages``: the body at a path, or who makes the answer. ``asked``: paths so far.

    ``client_authority``: clients must have a certificate of it.
    """

    def __init__(self, client_authority: trustme.CA | None = None) -> None:
        self._client_authority = client_authority
        self.pages: dict[str, bytes | Handler] = {}
        self.asked: list[str] = []
        self.url = ""
        self._ending = asyncio.Event()
        self._authority = trustme.CA()

    @property
    def authority(self) -> str:
        return str(self._authority.cert_pem.bytes(), "ascii")

    @asynccontextmanager
    async def running(self) -> AsyncIterator[HttpsServer]:
        context = SSLContext(PROTOCOL_TLS_SERVER)
        self._authority.issue_cert("127.0.0.1", "hook.default.svc").configure_cert(context)
        if self._client_authority is not None:
            context.verify_mode = CERT_REQUIRED
            self._client_authority.configure_trust(context)
        runner = web.ServerRunner(web.Server(self._answer), shutdown_timeout=0.1)
        await runner.setup()
        try:
            site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context)
            await site.start()
            self.url = f"https://127.0.0.1:{runner.addresses[0][1]}"
            yield self
        finally:
            self._ending.set()
            await asyncio.sleep(0)  # those who wait for it answer
            await runner.cleanup()

    async def silent(self, request: web.Request) -> web.StreamResponse:
        """A handler that answers when the server ends, and nobody listens any more."""
        await self._ending.wait()
        return web.Response(status=503)

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        self.asked.append(request.path)
        page = self.pages.get(request.path)
        if page is None:
            return web.Response(status=404)
        if isinstance(page, bytes):
            return web.Response(body=page, content_type="application/json")
        return await page(request)  # type: ignore[arg-type]  # what handlers use of it is the same
