"""A client of HTTP/2 that costs little: one connection, many streams, headers as client-go sends
them (each in the table that both sides keep)."""

from __future__ import annotations

import asyncio
import socket
import ssl
from typing import cast

from hpack import Encoder

from proreus.net.http2 import frames
from proreus.net.tls.handshakes import Handshakes
from proreus.net.tls.transport import TlsTransport

_WINDOW = 1 << 30
_HEAD = frames.HEAD


class Http2Load(asyncio.Protocol):
    """``ask`` for whole answers, ``watch`` for streams whose lines are counted."""

    transport: asyncio.Transport

    def __init__(self, token: str) -> None:
        self.made = asyncio.Event()
        self.lines = 0
        self._encoder = Encoder()
        self._about = [
            (b"accept", b"application/json"),
            (b"authorization", f"Bearer {token}".encode()),
            (b"user-agent", b"benchmark/1"),
            (b"accept-encoding", b"identity"),
        ]
        self._next = 1
        self._answers: dict[int, asyncio.Future[bytes]] = {}
        self._bodies: dict[int, list[bytes]] = {}
        self._watches: set[int] = set()
        self._unread = b""
        self._uncredited = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self.transport.write(
            frames.PREFACE
            + frames.settings((frames.ENABLE_PUSH, 0), (frames.INITIAL_WINDOW_SIZE, _WINDOW))
            + frames.window_update(0, _WINDOW)
        )
        self.made.set()

    async def ask(self, method: str, path: str, body: bytes = b"") -> bytes:
        number = self._request(method, path, body)
        self._bodies[number] = []
        answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._answers[number] = answer
        return await answer

    async def watch(self, path: str) -> None:
        number = self._request("GET", path, b"")
        self._watches.add(number)
        opened = self._answers[number] = asyncio.get_running_loop().create_future()
        await opened

    def _request(self, method: str, path: str, body: bytes) -> int:
        number, self._next = self._next, self._next + 2
        fields = [
            (b":authority", b"localhost"),
            (b":method", method.encode()),
            (b":path", path.encode()),
            (b":scheme", b"https"),
            *self._about,
        ]
        if body:
            fields += [
                (b"content-type", b"application/json"),
                (b"content-length", b"%d" % len(body)),
            ]
        sent = frames.headers(number, self._encoder.encode(fields), ends=not body)
        if body:
            sent += frames.frame_head(frames.DATA, frames.END_STREAM, number, len(body)) + body
        self.transport.write(sent)
        return number

    def data_received(self, data: bytes) -> None:
        data = self._unread + data
        place = 0
        while len(data) - place >= _HEAD.size:
            high, low, kind, flags, number = _HEAD.unpack_from(data, place)
            begin = place + _HEAD.size
            end = begin + (high << 8 | low)
            if end > len(data):
                break
            self._take(kind, flags, number, data[begin:end])
            place = end
        self._unread = data[place:]

    def _take(self, kind: int, flags: int, number: int, payload: bytes) -> None:
        if kind == frames.SETTINGS and not flags & frames.ACK:
            self.transport.write(frames.SETTINGS_ACK)
        elif kind == frames.GOAWAY:
            raise AssertionError(payload)
        elif kind == frames.HEADERS and number in self._watches:
            self._answers.pop(number).set_result(b"")
        elif kind == frames.DATA:
            if number in self._watches:
                self.lines += payload.count(b"}\n")
            else:
                self._bodies[number].append(payload)
            self._uncredited += len(payload)
            if self._uncredited > _WINDOW // 2:
                self.transport.write(frames.window_update(0, self._uncredited))
                self._uncredited = 0
        if flags & frames.END_STREAM and kind in (frames.DATA, frames.HEADERS):
            self._answers.pop(number).set_result(b"".join(self._bodies.pop(number)))


async def connect(port: int, token: str) -> Http2Load:
    loop = asyncio.get_running_loop()
    raw = socket.create_connection(("127.0.0.1", port))
    raw.setblocking(False)
    raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    tls = ssl.create_default_context()
    tls.check_hostname = False
    tls.verify_mode = ssl.CERT_NONE
    tls.set_alpn_protocols(["h2"])
    load = Http2Load(token)
    connected = tls.wrap_socket(raw, do_handshake_on_connect=False)
    TlsTransport(loop, connected, load, lambda transport: None, Handshakes(loop))
    await load.made.wait()
    return load
