"""An authorization webhook for tests: real HTTPS, and whatever it should do wrong."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

import trustme

from proreus.api.wire import json
from tests.connections import serving_connections

Json = dict[str, Any]
Decide = Callable[[Json], Json]
Behave = Callable[[asyncio.StreamWriter, Json], Awaitable[None]]
TOKEN = "the-token-of-the-api-server"


@lru_cache(maxsize=1)
def authority() -> trustme.CA:
    return trustme.CA()


def allow(_: Json) -> Json:
    return {"allowed": True}


class WebhookServer:
    """``decide`` makes the status of a spec; ``behave`` may answer otherwise; ``reviews`` are all
    that came; ``most_at_once``: how many were under way together."""

    def __init__(self, port: int = 0) -> None:
        self.decide: Decide = allow
        self.behave: Behave = self.answer
        self.reviews: list[Json] = []
        self.heads: list[str] = []
        self.most_at_once = 0
        self._under_way = 0
        self.port = port

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}/authorize"

    def write_kubeconfig(self, path: Path, *, ca: trustme.CA | None = None) -> Path:
        pem = path.parent / f"{path.name}.ca.pem"
        pem.write_bytes((ca or authority()).cert_pem.bytes())
        path.write_text(
            "current-context: c\ncontexts: [{name: c, context: {cluster: w, user: u}}]\n"
            f"clusters: [{{name: w, cluster: {{server: '{self.url}', "
            f"certificate-authority: {pem}}}}}]\n"
            f"users: [{{name: u, user: {{token: {TOKEN}}}}}]\n"
        )
        return path

    async def answer(self, writer: asyncio.StreamWriter, review: Json) -> None:
        """As a good webhook does."""
        status = self.decide(review["spec"])
        whole = {"kind": review["kind"], "apiVersion": review["apiVersion"], "status": status}
        send(writer, 200, json.encode(whole))

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                [length] = [
                    int(line.partition(":")[2])
                    for line in head.lower().split("\r\n")
                    if line.startswith("content-length:")
                ]
                review = json.decode(await reader.readexactly(length))
                self.heads.append(head)
                self.reviews.append(review)
                self._under_way += 1
                self.most_at_once = max(self.most_at_once, self._under_way)
                try:
                    await self.behave(writer, review)
                finally:
                    self._under_way -= 1
                await writer.drain()
        writer.close()


def send(writer: asyncio.StreamWriter, code: int, body: bytes, *headers: str) -> None:
    lines = [f"HTTP/1.1 {code} X", *headers, f"Content-Length: {len(body)}", "", ""]
    writer.write("\r\n".join(lines).encode() + body)


@asynccontextmanager
async def webhook_server() -> AsyncIterator[WebhookServer]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority().issue_cert("127.0.0.1").configure_cert(context)
    webhook = WebhookServer()
    async with serving_connections(webhook.serve, tls=context) as webhook.port:
        yield webhook
