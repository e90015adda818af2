"""A client that may say anything: bytes on a socket, and just enough HTTP to read the answers."""

from __future__ import annotations

import asyncio
import contextlib
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Protocol
from urllib.parse import urlsplit

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
PATIENCE_S = 60.0


class Reachable(Protocol):
    """A server in this process, or in another one."""

    @property
    def url(self) -> str: ...

    @property
    def token(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Answer:
    code: int
    headers: dict[str, str]  # names in lower case
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def reason(self) -> str:
        """Of a Status, "" if it has none."""
        status = self.json
        assert status["kind"] == "Status", status
        assert status["code"] == self.code
        return str(status.get("reason", ""))

    @property
    def message(self) -> str:
        return str(self.json["message"])


class Connection:
    """Every wait is bounded, so that a server that says nothing fails the test, not the suite."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, token: str
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._token = token

    async def send(self, data: bytes) -> None:
        """What the server no longer wants to read is not our failure."""
        with contextlib.suppress(ConnectionError):
            self._writer.write(data)
            await self._writer.drain()

    def end_sending(self) -> None:
        """Half close: no more will come, but we listen."""
        self._writer.write_eof()

    def vanish(self) -> None:
        """Drop the connection without a word."""
        self._writer.transport.abort()

    def stop_reading(self) -> None:
        transport = self._writer.transport
        assert isinstance(transport, asyncio.Transport)
        transport.pause_reading()

    def resume_reading(self) -> None:
        transport = self._writer.transport
        assert isinstance(transport, asyncio.Transport)
        transport.resume_reading()

    def head(self, method: str, path: str, headers: Iterable[tuple[str, str]] = ()) -> bytes:
        """A request's head by an administrator; a name given twice is sent twice."""
        own = {name.lower() for name, _ in headers}
        lines = [f"{method} {path} HTTP/1.1", "Host: localhost"]
        if "authorization" not in own:
            lines.append(f"Authorization: Bearer {self._token}")
        lines += [f"{name}: {value}" for name, value in headers]
        return "\r\n".join(lines).encode("utf-8", "surrogateescape") + b"\r\n\r\n"

    async def ask(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: Iterable[tuple[str, str]] = (),
    ) -> Answer:
        headers = list(headers)
        if body is not None:
            headers.append(("Content-Length", str(len(body))))
        await self.send(self.head(method, path, headers) + (body or b""))
        return await self.answer(is_head=method == "HEAD")

    async def answer(self, *, is_head: bool = False) -> Answer:
        """The next whole answer. Raises ConnectionError if there is none."""
        code, headers = await self.answer_head()
        if is_head or code in (204, 304) or code < 200:
            return Answer(code, headers, b"")
        if headers.get("transfer-encoding") == "chunked":
            return Answer(code, headers, b"".join([piece async for piece in self.chunks()]))
        if "content-length" in headers:
            size = int(headers["content-length"])
            return Answer(code, headers, await self._read(self._reader.readexactly(size)))
        return Answer(code, headers, await self.rest())

    async def answer_head(self) -> tuple[int, dict[str, str]]:
        block = await self._read(self._reader.readuntil(b"\r\n\r\n"))
        first, *lines = block.decode("latin-1").rstrip("\r\n").split("\r\n")
        version, code, _ = first.split(" ", 2)
        assert version in ("HTTP/1.1", "HTTP/1.0"), first
        pairs = (line.partition(":") for line in lines)
        return int(code), {name.strip().lower(): value.strip() for name, _, value in pairs}

    async def chunks(self) -> AsyncIterator[bytes]:
        while True:
            size = int((await self._read(self._reader.readuntil(b"\r\n"))).strip(), 16)
            piece = await self._read(self._reader.readexactly(size + 2))
            if not size:
                return
            yield piece[:-2]

    async def exactly(self, size: int) -> bytes:
        return await self._read(self._reader.readexactly(size))

    async def rest(self) -> bytes:
        """Everything until the server closes."""
        try:
            return await self._read(self._reader.read())
        except ConnectionError:
            return b""

    async def _read(self, reading: Awaitable[bytes]) -> bytes:
        try:
            async with asyncio.timeout(PATIENCE_S):
                return await reading
        except asyncio.IncompleteReadError as end:
            raise ConnectionResetError(f"the server closed after {end.partial!r}") from end


@asynccontextmanager
async def connected(
    server: Reachable, tls: ssl.SSLContext | None = None, *, buffer_bytes: int = 4 << 20
) -> AsyncIterator[Connection]:
    """``buffer_bytes`` bounds what is read ahead of the test."""
    address = urlsplit(server.url)
    reader, writer = await asyncio.open_connection(
        address.hostname, address.port, ssl=tls, limit=buffer_bytes
    )
    try:
        yield Connection(reader, writer, server.token)
    finally:
        writer.close()
        with contextlib.suppress(ConnectionError, ssl.SSLError):
            await writer.wait_closed()


async def ask(
    server: Reachable,
    method: str,
    path: str,
    body: bytes | None = None,
    headers: Iterable[tuple[str, str]] = (),
) -> Answer:
    """One request on a connection of its own."""
    async with connected(server) as connection:
        return await connection.ask(method, path, body, headers)


def config_map(name: str, **values: str) -> bytes:
    return json.dumps({"metadata": {"name": name}, "data": values}).encode()


async def names(server: Reachable, path: str = CONFIG_MAPS) -> list[str]:
    """What is stored: the proof that a refused request left nothing behind."""
    listed = await ask(server, "GET", path)
    assert listed.code == 200, listed
    return [item["metadata"]["name"] for item in listed.json["items"]]


async def wait_ready(server: Reachable) -> None:
    """Its parts do their first work after it has begun to answer."""
    async with asyncio.timeout(PATIENCE_S):
        while (await ask(server, "GET", "/readyz")).code != 200:
            continue


async def assert_alive(server: Reachable) -> None:
    """A plain client is served as if nothing had happened."""
    assert (await ask(server, "GET", "/livez")).body == b"ok"
    created = await ask(server, "POST", CONFIG_MAPS + "?dryRun=All", config_map("alive"))
    assert created.code == 201, created


async def until(server: Reachable, metric: str, value: float) -> None:
    """Ask until the server's own count says so; asking gives it its turns."""
    async with asyncio.timeout(PATIENCE_S):
        while await measured(server, metric) != value:
            pass


async def measured(server: Reachable, metric: str) -> float:
    """The sum of a metric over its labels; ``metric`` may name one as ``name{label="x"}``."""
    name, _, label = metric.partition("{")
    text = (await ask(server, "GET", "/metrics")).body.decode()
    lines = [line for line in text.splitlines() if line.startswith((f"{name}{{", f"{name} "))]
    return sum(float(line.rsplit(" ", 1)[1]) for line in lines if label.rstrip("}") in line)
