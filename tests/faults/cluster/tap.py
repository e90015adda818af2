"""A wire between a program and its server that writes down what the program asks for."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import re
import ssl
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import trustme
import yaml

from tests.any_server import Upstream
from tests.parts import wait_first

_REQUEST = re.compile(rb"(GET|POST|PUT|PATCH|DELETE) (\S+) HTTP/1")


class Tap:
    """Ends TLS on both sides. ``on_write`` is called before a request that is no GET is passed
    on."""

    def __init__(self, upstream: Upstream) -> None:
        self._upstream = upstream
        self._authority = trustme.CA()
        self.port = 0
        self.asked: list[str] = []
        self.on_write: Callable[[int], None] = lambda _: None
        self._changed = asyncio.Condition()
        self._serving: set[asyncio.Task[None]] = set()

    @property
    def written(self) -> list[str]:
        return [line for line in self.asked if not line.startswith("GET ")]

    @property
    def looks_at_lease(self) -> int:
        return sum(line.startswith("GET ") and "/leases/" in line for line in self.asked)

    def kubeconfig(self, original: Path) -> Path:
        """A copy that leads through here."""
        config = yaml.safe_load(original.read_text())
        (name,) = (
            one["context"]["cluster"]
            for one in config["contexts"]
            if one["name"] == config["current-context"]
        )
        authority = base64.b64encode(self._authority.cert_pem.bytes()).decode()
        through = {
            "server": f"https://127.0.0.1:{self.port}",
            "certificate-authority-data": authority,
        }
        config["clusters"] = [{"name": name, "cluster": through}]
        copy = original.with_name(f"kubeconfig-{self.port}")
        copy.write_text(yaml.safe_dump(config))
        return copy

    def certificate(self) -> ssl.SSLContext:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self._authority.issue_cert("127.0.0.1").configure_cert(context)
        return context

    async def wait(self, holds: Callable[[], bool]) -> None:
        async with asyncio.timeout(60), self._changed:
            await self._changed.wait_for(holds)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection; when one of its ends is gone, the other is dropped."""
        task = asyncio.current_task()
        assert task is not None
        self._serving.add(task)
        ends = [writer]
        with contextlib.suppress(OSError, asyncio.CancelledError):
            to = self._upstream
            there, back = await asyncio.open_connection(
                to.host, to.port, ssl=to.tls, server_hostname=to.server_name
            )
            ends.append(back)
            await wait_first(self._forth(reader, back), _copy(there, writer))
        for end in ends:
            end.transport.abort()
        self._serving.discard(task)

    async def close(self) -> None:
        serving = list(self._serving)
        for task in serving:
            task.cancel()
        await asyncio.gather(*serving, return_exceptions=True)

    async def _forth(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while sent := await reader.read(65536):
            if found := _REQUEST.match(sent):
                self.asked.append(f"{found[1].decode()} {found[2].decode()}")
                if found[1] != b"GET":
                    self.on_write(len(self.written))
                async with self._changed:
                    self._changed.notify_all()
            writer.write(sent)
            await writer.drain()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while sent := await reader.read(65536):
        writer.write(sent)
        await writer.drain()


@contextlib.asynccontextmanager
async def tap(kubeconfig: Path) -> AsyncIterator[Tap]:
    """Before the server of a kubeconfig."""
    made = Tap(Upstream.named_in(kubeconfig))
    server = await asyncio.start_server(made.serve, "127.0.0.1", 0, ssl=made.certificate())
    made.port = server.sockets[0].getsockname()[1]
    try:
        yield made
    finally:
        server.close()
        await made.close()
