"""TLS straight on a non-blocking socket: one call encrypts and sends, one receives and decrypts.
Both sides have it: the socket knows whether it is a server's or a client's.

asyncio's own TLS copies every byte through two memory buffers and a second protocol; that costs
more than the encryption. Here a small answer is one ``SSL_write``: a TLS request served this way
costs about half of what it costs through ``loop.create_server(ssl=…)``.

Invariants: bytes leave in the order of ``write``; the protocol hears ``connection_made`` once the
handshake is done and then ``connection_lost`` exactly once; after ``close`` what was written still
leaves, after ``abort`` nothing does.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections import deque
from collections.abc import Callable, Sequence
from enum import Enum
from hashlib import sha256
from typing import Any, NamedTuple, cast

from proreus.net.tls.handshakes import Handshakes

_RECORD_BYTES = 16 * 1024
# Records taken from one connection before the others have their turn.
_RECORDS_PER_TURN = 16
# What is encrypted at once: large writes are cut to it, small ones that wait are joined up to it.
_PIECE_BYTES = 128 * 1024
_TCP_CORK: int | None = getattr(socket, "TCP_CORK", None)  # Linux has it
_HIGH_WATER = 64 * 1024
_HANDSHAKE_S = 30.0
# How long a client may take to read what was written before a close, and to close its own side:
# a socket closed with unread input is reset by the kernel, and the client loses its last answer.
_FLUSH_S = 30.0
_CLOSE_S = 1.0

_DER = 2  # what ``_ssl`` calls ENCODING_DER
_BLOCKED = (ssl.SSLWantReadError, ssl.SSLWantWriteError)

Buffer = bytes | bytearray | memoryview


def pieces_of(data: Buffer) -> Sequence[Buffer]:
    if len(data) <= _PIECE_BYTES:
        return (data,)
    view = memoryview(data)
    return [view[start : start + _PIECE_BYTES] for start in range(0, len(view), _PIECE_BYTES)]


class Unsent(NamedTuple):
    """What of a write the kernel did not take, or why it never will."""

    transport: TlsTransport
    pieces: Sequence[Buffer]
    error: Exception | None = None


class _Phase(Enum):
    """A transport goes through these in order, and may leave some out."""

    HANDSHAKE = 1
    OPEN = 2
    CLOSING = 3  # what was written leaves, nothing more is taken
    LOST = 4


_OPEN = _Phase.OPEN


class TlsTransport(asyncio.Transport):
    """One connection; its handshake has not begun. ``forget`` is called when it is over.

    Beside its phase there are asyncio's two flags of flow control, one for each direction.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        connected: ssl.SSLSocket,
        protocol: asyncio.Protocol,
        forget: Callable[[TlsTransport], None],
        handshakes: Handshakes,
    ) -> None:
        super().__init__()
        self._loop = loop
        self._protocol = protocol
        self._socket = connected
        # What the methods of ``connected`` call: they would check each time whether it is open,
        # four calls for a request and its answer.
        self._decrypt: Callable[[int], bytes] = connected._sslobj.read  # type: ignore[attr-defined]
        self._encrypt: Callable[[Buffer], int] = connected._sslobj.write  # type: ignore[attr-defined]
        self._fd = connected.fileno()
        self._is_tcp = connected.family in (socket.AF_INET, socket.AF_INET6)
        self._forget = forget
        self._queue: deque[Buffer] = deque()
        self._queued = 0
        self._high, self._low = _HIGH_WATER, _HIGH_WATER // 4
        self._is_protocol_paused = False
        self._is_reading = False
        self.reads_on = False  # its client sends many short records at once
        self._phase = _Phase.HANDSHAKE
        self.failure: BaseException | None = None  # why it was lost
        self._handshakes = handshakes
        self._about: dict[str, Any] = {"socket": connected, "sslcontext": connected.context}
        self._timer = loop.call_later(_HANDSHAKE_S, self.abort)
        handshakes.ready(self)  # the client's first message may have arrived already

    def continue_handshake(self) -> None:
        """One step of the handshake; ``handshakes`` calls it when there is something to read."""
        if self._phase is not _Phase.HANDSHAKE:
            return
        try:
            self._socket.do_handshake()
            self._about |= {
                "peername": self._socket.getpeername(),
                "sockname": self._socket.getsockname(),
                "peercert": _peer_certificate(self._socket) if self._socket.server_side else None,
                "ssl_object": self._socket,
            }
        except ssl.SSLWantReadError:
            self._loop.add_reader(self._fd, self._handshake_ready)
            self._handshakes.waits(self)
            return
        except ssl.SSLWantWriteError:
            self._loop.add_writer(self._fd, self._handshake_ready)
            self._handshakes.waits(self)
            return
        except OSError as error:
            self._lose(error)
            return
        self._timer.cancel()
        self._phase = _OPEN
        self._is_reading = True
        self._loop.add_reader(self._fd, self._read_ready)
        self._protocol.connection_made(self)

    def _handshake_ready(self) -> None:
        self._loop.remove_reader(self._fd)
        self._loop.remove_writer(self._fd)
        self._handshakes.ready(self)

    # Reading

    def _read_ready(self) -> None:
        for _ in range(_RECORDS_PER_TURN):
            try:
                record = self._decrypt(_RECORD_BYTES)
            except _BLOCKED:
                return
            except ssl.SSLEOFError:
                record = b""  # the other side is gone without closing TLS
            except OSError as error:
                self._lose(error)
                return
            protocol = self._protocol  # a new one may have taken over
            if not record:
                protocol.eof_received()
                self.close()
                return
            protocol.data_received(record)
            # A full record is seldom the last one; anything shorter is, nearly always.
            if not self._is_reading or (len(record) < _RECORD_BYTES and not self.reads_on):
                return

    def is_reading(self) -> bool:
        return self._is_reading

    def pause_reading(self) -> None:
        if self._is_reading:
            self._is_reading = False
            self._loop.remove_reader(self._fd)

    def resume_reading(self) -> None:
        if not self._is_reading and self._phase is _OPEN:
            self._is_reading = True
            self._loop.add_reader(self._fd, self._read_ready)

    # Writing

    def write(self, data: Buffer) -> None:
        if not data:
            return
        if len(data) > _RECORD_BYTES or self._queue or self._phase is not _OPEN:
            if (unsent := self.try_send(pieces_of(data))) is not None:
                self.queue(unsent)
            return
        try:  # one record, as most answers and events are
            self._encrypt(data)
        except Exception as error:
            self.queue(self._unsent((data,), error))

    def try_send(self, pieces: Sequence[Buffer]) -> Unsent | None:
        """Send what the kernel takes now; the caller must ``queue`` what is returned, on the loop.

        Any thread may call this while the loop's own thread waits for it. OpenSSL takes a piece
        whole or, if the socket is full, must be given the same bytes again.
        """
        if self._queue or self._phase is not _OPEN:
            return Unsent(self, pieces)
        sent = 0
        try:
            for piece in pieces:
                if len(piece) <= _RECORD_BYTES:
                    self._encrypt(piece)
                else:
                    self._send_records(piece)
                sent += 1
        except Exception as error:
            return self._unsent(pieces[sent:], error)
        return None

    def _unsent(self, pieces: Sequence[Buffer], error: Exception) -> Unsent:
        if isinstance(error, _BLOCKED):
            return Unsent(self, pieces)
        return Unsent(self, (), error)  # whatever it is, nothing may follow what was not sent

    def queue(self, unsent: Unsent) -> None:
        """Keep what ``try_send`` could not send until the socket takes it."""
        if self._phase is not _OPEN:
            return
        if unsent.error is not None:
            self._lose(unsent.error)
            return
        if not self._queue:
            self._loop.add_writer(self._fd, self._write_ready)
        self._queue.extend(unsent.pieces)
        self._queued += sum(map(len, unsent.pieces))
        if self._queued > self._high and not self._is_protocol_paused:
            self._is_protocol_paused = True
            self._protocol.pause_writing()

    def _send_records(self, piece: Buffer) -> None:
        """OpenSSL sends each record by itself. Those of one piece travel the kernel together: that
        saves a quarter of the CPU of 64 kB."""
        if _TCP_CORK is None or not self._is_tcp:
            self._encrypt(piece)
            return
        set_option = self._socket.setsockopt
        set_option(socket.IPPROTO_TCP, _TCP_CORK, 1)
        try:
            self._encrypt(piece)
        finally:
            set_option(socket.IPPROTO_TCP, _TCP_CORK, 0)

    def _write_ready(self) -> None:
        """The blocked piece first, then those behind it, small ones together."""
        queue = self._queue
        while queue:
            try:
                self._send_records(queue[0])
            except _BLOCKED:
                return
            except OSError as error:
                self._lose(error)
                return
            self._queued -= len(queue.popleft())
            self._join_small()
            if self._is_protocol_paused and self._queued <= self._low:
                self._is_protocol_paused = False
                self._protocol.resume_writing()
        self._loop.remove_writer(self._fd)
        if self._phase is _Phase.CLOSING:
            self._send_close()

    def _join_small(self) -> None:
        queue = self._queue
        if len(queue) < 2 or len(queue[0]) + len(queue[1]) > _PIECE_BYTES:
            return
        pieces, size = [queue.popleft()], 0
        while queue and size + len(queue[0]) <= _PIECE_BYTES:
            size += len(queue[0])
            pieces.append(queue.popleft())
        queue.appendleft(b"".join(pieces))

    def get_write_buffer_size(self) -> int:
        return self._queued

    def get_write_buffer_limits(self) -> tuple[int, int]:
        return self._low, self._high

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        self._high = _HIGH_WATER if high is None else high
        self._low = self._high // 4 if low is None else low

    def can_write_eof(self) -> bool:
        return False

    # The end

    def is_closing(self) -> bool:
        return self._phase in (_Phase.CLOSING, _Phase.LOST)

    def close(self) -> None:
        if self._phase is _Phase.HANDSHAKE:
            self.abort()
        elif self._phase is _OPEN:
            self._phase = _Phase.CLOSING
            self.pause_reading()
            if self._queue:
                self._timer = self._loop.call_later(_FLUSH_S, self.abort)
            else:
                self._send_close()

    def _send_close(self) -> None:
        self._timer.cancel()
        self._timer = self._loop.call_later(_CLOSE_S, self.abort)
        try:
            with contextlib.suppress(*_BLOCKED):
                self._socket.unwrap()
            self._socket.shutdown(socket.SHUT_WR)
        except (OSError, ValueError):
            self._lose(None)
            return
        self._loop.add_reader(self._fd, self._await_close)

    def _await_close(self) -> None:
        """What still comes is dropped; it may be no TLS any more."""
        try:
            if self._socket.recv(_RECORD_BYTES):
                return
        except _BLOCKED:
            return
        except OSError:
            pass
        self._lose(None)

    def abort(self) -> None:
        self._lose(None)

    def _lose(self, error: BaseException | None) -> None:
        if self._phase is _Phase.LOST:
            return
        is_known = self._phase is not _Phase.HANDSHAKE  # to the protocol
        self.failure = error
        self._phase = _Phase.LOST
        self._handshakes.over(self)
        self._is_reading = False
        self._timer.cancel()
        self._queue.clear()
        self._queued = 0
        self._loop.remove_reader(self._fd)
        self._loop.remove_writer(self._fd)
        self._loop.call_soon(self._end, error, is_known)

    def _end(self, error: BaseException | None, is_known: bool) -> None:
        try:
            if is_known:
                self._protocol.connection_lost(error if isinstance(error, Exception) else None)
        finally:
            self._socket.close()
            self._forget(self)

    # What asyncio's users ask of a transport

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self._about.get(name, default)

    def get_protocol(self) -> asyncio.Protocol:
        return self._protocol

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self._protocol = cast(asyncio.Protocol, protocol)  # no other kind takes bytes


def _peer_certificate(connected: ssl.SSLSocket) -> dict[str, Any] | None:
    """As ``ssl`` describes it, and besides: ``sha256``, its digest, since two certificates may have
    one subject; ``expires``, its end in Unix seconds; ``authorities``, the digests of those that it
    was verified by."""
    described = connected.getpeercert()
    if not described:
        return None
    chain = connected._sslobj.get_verified_chain() or ()  # type: ignore[attr-defined]
    # Public from Python 3.13 on, where it gives bytes.
    packed = [one if isinstance(one, bytes) else one.public_bytes(_DER) for one in chain]
    return {
        **described,
        "sha256": sha256(connected.getpeercert(True) or b"").hexdigest(),
        "expires": ssl.cert_time_to_seconds(str(described["notAfter"])),
        "authorities": tuple(sha256(one).hexdigest() for one in packed[1:]),
    }
