"""A client of HTTP/2 by ``h2``, which refuses whatever a server may not send."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import h2.config
import h2.connection
import h2.events

PATIENCE_S = 60.0
Pairs = Iterable[tuple[str, str]]


@dataclass(slots=True)
class Stream:
    """What has come on one so far. ``reset``: why it was, None while it was not. ``is_read``: the
    server may send more when some has come."""

    number: int
    code: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    is_over: bool = False
    reset: int | None = None
    is_read: bool = True


class Http2Client:
    """Every wait is bounded."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, token: str
    ) -> None:
        config = h2.config.H2Configuration(client_side=True, header_encoding="utf-8")
        self.h2 = h2.connection.H2Connection(config)
        self.streams: dict[int, Stream] = {}
        self.goaway: int | None = None
        self.is_closed = False
        self.pongs = 0
        self._reader = reader
        self._writer = writer
        self._token = token
        self._moved = asyncio.Event()

    def begin(self) -> None:
        self.h2.initiate_connection()
        self.flush()

    def flush(self) -> None:
        self.send_raw(self.h2.data_to_send())

    def send_raw(self, data: bytes) -> None:
        """Whatever it is; what the server no longer wants to read is not our failure."""
        with contextlib.suppress(ConnectionError):
            self._writer.write(data)

    async def drain(self) -> None:
        with contextlib.suppress(ConnectionError):
            await self._writer.drain()

    def request(
        self, method: str, path: str, headers: Pairs = (), *, has_body: bool = False
    ) -> Stream:
        stream = Stream(self.h2.get_next_available_stream_id())
        self.streams[stream.number] = stream
        pairs = [
            (":method", method),
            (":scheme", "https"),
            (":authority", "localhost"),
            (":path", path),
            ("authorization", f"Bearer {self._token}"),
            *headers,
        ]
        self.h2.send_headers(stream.number, pairs, end_stream=not has_body)
        self.flush()
        return stream

    async def ask(
        self, method: str, path: str, body: bytes | None = None, headers: Pairs = ()
    ) -> Stream:
        """One request, and its whole answer."""
        if body is not None:
            headers = [*headers, ("content-length", str(len(body)))]
        stream = self.request(method, path, headers, has_body=body is not None)
        if body is not None:
            await self.send_body(stream, body)
        await self.until(lambda: stream.is_over)
        return stream

    async def send_body(self, stream: Stream, body: bytes) -> None:
        """As the server takes it."""
        place, number = 0, stream.number
        while place < len(body):
            await self.until(
                lambda: stream.is_over or self.h2.local_flow_control_window(number) > 0
            )
            if stream.is_over:
                return  # the server wants no more of it
            room = self.h2.local_flow_control_window(number)
            size = min(room, self.h2.max_outbound_frame_size, len(body) - place)
            self.h2.send_data(number, body[place : place + size])
            self.flush()
            place += size
        self.h2.end_stream(stream.number)
        self.flush()

    async def until(self, is_so: Callable[[], bool]) -> None:
        """Raises ConnectionResetError if the connection ends before."""
        async with asyncio.timeout(PATIENCE_S):
            while not is_so():
                if self.is_closed:
                    raise ConnectionResetError(f"the server closed, GOAWAY {self.goaway}")
                self._moved.clear()
                await self._moved.wait()

    async def until_closed(self) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while not self.is_closed:
                self._moved.clear()
                await self._moved.wait()

    async def read(self) -> None:
        """All that comes, until the connection ends."""
        try:
            while data := await self._reader.read(1 << 16):
                for event in self.h2.receive_data(data):
                    self._take(event)
                self.flush()
                self._moved.set()
        except (ConnectionError, ssl.SSLError):
            pass
        finally:
            self.is_closed = True
            self._moved.set()

    def _take(self, event: h2.events.Event) -> None:
        match event:
            case h2.events.ResponseReceived():
                stream = self.streams[event.stream_id]
                found = {str(name): str(value) for name, value in event.headers}
                stream.code, stream.headers = int(found.pop(":status")), found
            case h2.events.DataReceived():
                stream = self.streams[event.stream_id]
                stream.body += event.data
                if stream.is_read and event.flow_controlled_length:
                    self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            case h2.events.StreamEnded():
                self.streams[event.stream_id].is_over = True
            case h2.events.StreamReset():
                stream = self.streams[event.stream_id]
                stream.is_over, stream.reset = True, int(event.error_code)
            case h2.events.ConnectionTerminated():
                self.goaway = int(event.error_code or 0)
                # Streams that were begun before are still answered (RFC 9113, 6.8).
                self.h2.state_machine.state = h2.connection.ConnectionState.CLIENT_OPEN
            case h2.events.PingAckReceived():
                self.pongs += 1
            case _:
                pass

    def stop_reading(self) -> None:
        """Not even from the socket."""
        transport = self._writer.transport
        assert isinstance(transport, asyncio.Transport)
        transport.pause_reading()


def trusting_anybody() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.set_alpn_protocols(["h2", "http/1.1"])
    return context


@asynccontextmanager
async def connected_http2(
    url: str, token: str = "", tls: ssl.SSLContext | None = None, *, begins: bool = True
) -> AsyncIterator[Http2Client]:
    """``begins``: with the preface and settings."""
    address = urlsplit(url)
    reader, writer = await asyncio.open_connection(
        address.hostname, address.port, ssl=tls or trusting_anybody()
    )
    chosen = writer.get_extra_info("ssl_object").selected_alpn_protocol()
    assert chosen == "h2", chosen
    client = Http2Client(reader, writer, token)
    if begins:
        client.begin()
    reading = asyncio.create_task(client.read())
    try:
        yield client
    finally:
        reading.cancel()
        await asyncio.wait([reading])
        writer.transport.abort()
        if not reading.cancelled():
            reading.result()  # what the server may not send
