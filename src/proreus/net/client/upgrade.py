"""A request for another protocol (HTTP's Upgrade), and the connection it becomes.

Beside ``http_client``, whose library knows WebSockets alone: what follows a 101 is passed on as
bytes, whatever protocol it is.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import field
from typing import cast

from proreus.lazy_dataclass import dataclass
from proreus.net.client.connectors import AddressForbidden, open_socket
from proreus.net.client.http_client import Headers
from proreus.net.client.transport_error import (
    AddressNotAllowed,
    ConnectFailed,
    ConnectionLost,
    ConnectionRefused,
    ProtocolError,
    TlsFailed,
    TransportError,
)
from proreus.net.http1.messages import Request
from proreus.net.http1.request_body import BadChunk, Chunked, Flow, Framing, Sized
from proreus.net.http1.request_head import HEAD_BYTES_MAX, HEADER_LINES

_PIECE_BYTES = 64 * 1024
_BODY_BYTES_MAX = 1024 * 1024  # of an answer that refuses
_UNSENT_BYTES_MAX = 256 * 1024
_STATUS_LINE = re.compile(rb"HTTP/1\.[01] ([1-5][0-9]{2})(?: [^\x00-\x08\x0a-\x1f\x7f]*)?\r\n")
_LENGTH = re.compile(r"[0-9]{1,15}")
_WITHOUT_BODY = frozenset({204, 304})


@dataclass(frozen=True, slots=True)
class UpgradeRequest:
    method: str
    target: str
    headers: Mapping[str, str | list[str]] = field(repr=False)

    def encoded(self) -> bytes:
        lines = [f"{self.method} {self.target} HTTP/1.1"]
        for name, values in self.headers.items():
            lines += [f"{name}: {v}" for v in ([values] if isinstance(values, str) else values)]
        return "\r\n".join([*lines, "", ""]).encode("utf-8", "replace")


class UpgradeAnswer:
    """``status`` 101: the protocol was changed, and ``relay`` passes it on; else ``read_body``."""

    def __init__(
        self,
        url: str,
        head: bytes,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        """Raises ProtocolError."""
        line = _STATUS_LINE.match(head)
        if line is None or HEADER_LINES.fullmatch(head, line.end(), len(head) - 2) is None:
            raise ProtocolError(url, "malformed HTTP response")
        self.status = int(line[1])
        texts = head[line.end() : -4].decode("latin-1").split("\r\n")
        pairs = (text.partition(":") for text in texts if text)
        self.pairs = [(name, value.strip(" \t")) for name, _, value in pairs]
        self.headers = Headers(self.pairs)
        self._url = url
        self._head = head
        self._reader = reader
        self._writer = writer

    async def read_body(self) -> bytes:
        """Of an answer that is no 101; the first MiB of it. Raises TransportError."""
        if self.status in _WITHOUT_BODY:
            return b""
        framing = self._framing()
        found = b""
        try:
            while len(found) < _BODY_BYTES_MAX and not (framing and framing.is_done):
                piece = await self._reader.read(_PIECE_BYTES)
                if not piece:
                    if framing is not None:
                        raise ConnectionLost(self._url, "unexpected EOF")
                    break
                found += framing.take(piece)[0] if framing is not None else piece
        except BadChunk as error:
            raise ProtocolError(self._url, f"malformed chunked encoding: {error}") from error
        except OSError as error:
            raise ConnectionLost(self._url, str(error)) from error
        return found[:_BODY_BYTES_MAX]

    def _framing(self) -> Framing | None:
        if self.headers.get("Transfer-Encoding").lower() == "chunked":
            return Chunked()
        length = self.headers.get("Content-Length")
        if not length:
            return None
        if _LENGTH.fullmatch(length) is None:
            raise ProtocolError(self._url, "bad Content-Length")
        return Sized(int(length))

    async def relay(self, request: Request) -> None:
        """Give the client the 101, and then each side what the other sends, until one ends.
        Neither is read faster than the other takes it. Raises ConnectionResetError if the client is
        gone."""
        if request.on_started is not None:
            request.on_started(101)
        request.transport.write(self._head)
        flow = cast(Flow, request.carrier)  # as every connection that asked for an upgrade
        sender = _ToServer(self._writer, flow)
        request.carrier.hand_over(sender.take)
        async with asyncio.TaskGroup() as both:
            sending = both.create_task(sender.run())
            try:
                while piece := await self._reader.read(_PIECE_BYTES):
                    request.transport.write(piece)
                    await request.wait_written()
            except OSError:
                pass  # the server broke off: the client sees its connection end
            finally:
                sending.cancel()


class _ToServer:
    """What a client sends after the upgrade."""

    def __init__(self, writer: asyncio.StreamWriter, client: Flow) -> None:
        self._writer = writer
        self._client = client
        self._full = asyncio.Event()

    def take(self, data: bytes) -> None:
        if self._writer.is_closing():
            return
        if not data:
            self._writer.close()
            return
        self._writer.write(data)
        if self._writer.transport.get_write_buffer_size() > _UNSENT_BYTES_MAX:
            self._client.hold()
            self._full.set()

    async def run(self) -> None:
        """Read on once the server has taken what was sent; for ever."""
        while True:
            await self._full.wait()
            self._full.clear()
            with contextlib.suppress(OSError):
                await self._writer.drain()
            self._client.release()


@contextlib.asynccontextmanager
async def ask_upgrade(
    address: tuple[str, int],
    asked: UpgradeRequest,
    context: ssl.SSLContext | None,
    server_hostname: str,
    forbid: Callable[[str, int], bool] | None = None,
) -> AsyncIterator[UpgradeAnswer]:
    """Over a connection of its own, which is closed at the end; without ``context`` it is plain.
    Raises TransportError; who waits sets the deadline."""
    url = f"{'http' if context is None else 'https'}://{address[0]}:{address[1]}{asked.target}"
    reader, writer = await _connected(url, address, context, server_hostname, forbid)
    try:
        try:
            writer.write(asked.encoded())
            head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.LimitOverrunError as error:
            raise ProtocolError(url, "the head of the answer is too long") from error
        except (OSError, asyncio.IncompleteReadError) as error:
            raise ConnectionLost(url, "EOF") from error
        yield UpgradeAnswer(url, head, reader, writer)
    finally:
        writer.transport.abort()
        with contextlib.suppress(OSError):
            await writer.wait_closed()


async def _connected(
    url: str,
    address: tuple[str, int],
    context: ssl.SSLContext | None,
    server_hostname: str,
    forbid: Callable[[str, int], bool] | None,
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    loop = asyncio.get_running_loop()
    failure: TransportError = ConnectFailed(url, "the host has no address")
    try:
        places = await loop.getaddrinfo(*address, type=1)  # SOCK_STREAM
    except OSError as error:
        raise ConnectFailed(url, str(error)) from error
    for place in places:
        try:
            with contextlib.ExitStack() as owned:
                opened = open_socket(place, forbid)
                owned.callback(opened.close)
                opened.setblocking(False)
                await loop.sock_connect(opened, place[4])
                found = await asyncio.open_connection(
                    sock=opened,
                    ssl=context,
                    server_hostname=server_hostname if context is not None else None,
                    limit=HEAD_BYTES_MAX,
                )
                owned.pop_all()
                return found
        except AddressForbidden:
            failure = AddressNotAllowed(url, "address not allowed")
        except ssl.SSLError as error:
            reason = getattr(error, "verify_message", "") or str(error)
            failure = TlsFailed(url, f"TLS: {reason}")
        except ConnectionRefusedError:
            failure = ConnectionRefused(url, "connection refused")
        except OSError as error:
            failure = ConnectFailed(url, error.strerror or str(error))
    raise failure
