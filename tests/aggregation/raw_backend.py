"""An HTTPS server that says bytes: for what no proper API server would do."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from ssl import PROTOCOL_TLS_SERVER, SSLContext

import trustme

from tests.connections import serving_connections

Answer = Callable[["Asked"], Awaitable[None]]
HOST = "widgets.default.svc"


class Asked:
    """One request: ``head`` as it came, and the connection."""

    def __init__(
        self, head: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.line, *lines = head.split("\r\n")
        pairs = [line.partition(": ") for line in lines if line]
        self.headers: dict[str, list[str]] = {}
        for name, _, value in pairs:
            self.headers.setdefault(name.lower(), []).append(value)
        self.path = self.line.split(" ")[1]
        self.reader = reader
        self.writer = writer

    async def say(self, text: str | bytes) -> None:
        self.writer.write(text.encode() if isinstance(text, str) else text)
        await self.writer.drain()

    async def answer(self, status: str, body: str = "", *headers: str) -> None:
        lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers, "", body]
        await self.say("\r\n".join(lines))


class RawBackend:
    """Answers discovery as a server of the group does; else ``then`` answers. ``asked`` are the
    requests besides discovery."""

    def __init__(self) -> None:
        self.authority = trustme.CA()
        self.port = 0
        self.asked: list[Asked] = []
        self.discovery = '{"kind":"APIResourceList","groupVersion":"example.com/v1","resources":[]}'
        self._then: Answer | None = None

    def then(self, answer: Answer) -> Answer:
        """To decorate who answers from now on."""
        self._then = answer
        return answer

    @asynccontextmanager
    async def running(self, port: int = 0, host: str = "127.0.0.1") -> AsyncIterator[RawBackend]:
        context = SSLContext(PROTOCOL_TLS_SERVER)
        self.authority.issue_cert(HOST).configure_cert(context)
        async with serving_connections(self._serve, host, port, tls=context) as self.port:
            yield self

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            asked = Asked(head, reader, writer)
            if asked.path == "/apis/example.com/v1" and "system:kube-aggregator" in str(
                asked.headers.get("x-remote-user")
            ):
                await asked.answer("200 OK", self.discovery, "Content-Type: application/json")
            elif asked.path in ("/apis", "/openapi/v3"):
                await asked.answer("404 Not Found")
            else:
                self.asked.append(asked)
                assert self._then is not None, "nobody answers"
                await self._then(asked)
