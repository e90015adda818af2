"""A server's side of HTTP/2 by a library of its own (h2), for sessions without a socket."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from struct import pack, unpack_from

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import (
    ConnectionTerminated,
    DataReceived,
    Event,
    PingAckReceived,
    RequestReceived,
    StreamEnded,
    StreamReset,
)
from h2.settings import SettingCodes

from proreus.net.grpc.failures import RpcFailed
from proreus.net.grpc.session import Http2Session

Cuts = Callable[[bytes], Iterator[bytes]]


class Collected:
    """A receiver that keeps everything it gets."""

    def __init__(self, backlog: int = 0) -> None:
        self.backlog = backlog
        self.messages: list[bytes] = []
        self.ends: list[RpcFailed | None] = []

    def received(self, message: bytes) -> None:
        self.messages.append(message)

    def ended(self, failure: RpcFailed | None) -> None:
        self.ends.append(failure)


@dataclass(slots=True)
class Request:
    headers: dict[str, str]
    data: bytearray = field(default_factory=bytearray)
    is_ended: bool = False
    reset: int | None = None

    @property
    def messages(self) -> list[bytes]:
        found: list[bytes] = []
        at = 0
        while at < len(self.data):
            is_compressed, length = unpack_from(">BL", self.data, at)
            assert not is_compressed
            found.append(bytes(self.data[at + 5 : at + 5 + length]))
            at += 5 + length
        return found


def whole(data: bytes) -> Iterator[bytes]:
    yield data


def prefixed(message: bytes) -> bytes:
    return pack(">BL", 0, len(message)) + message


class Peer:
    """``acknowledges``: data that was read is granted again at once."""

    def __init__(
        self, settings: dict[int, int] | None = None, *, acknowledges: bool = True
    ) -> None:
        self.h2 = H2Connection(H2Configuration(client_side=False, header_encoding="utf-8"))
        self.requests: dict[int, Request] = {}
        self.pings = 0
        self.is_gone = False
        self._acknowledges = acknowledges
        self.h2.initiate_connection()
        if settings:
            self.h2.update_settings({SettingCodes(k): v for k, v in settings.items()})

    def talk(self, session: Http2Session, cuts: Cuts = whole) -> None:
        """Hand bytes to and fro until neither side has any."""
        while True:
            sent, received = b"".join(session.output), self.h2.data_to_send()
            session.output.clear()
            if not sent and not received:
                return
            if sent:
                for event in self.h2.receive_data(sent):
                    self._take(event)
            for piece in cuts(received):
                session.receive(piece)

    def head(self, number: int) -> None:
        self.h2.send_headers(number, [(":status", "200"), ("content-type", "application/grpc")])

    def status(self, number: int, code: int = 0, message: str = "") -> None:
        trailers = [("grpc-status", str(code)), ("grpc-message", message)]
        self.h2.send_headers(number, trailers, end_stream=True)

    def answer(self, number: int, *messages: bytes) -> None:
        self.head(number)
        for message in messages:
            self.data(number, prefixed(message))
        self.status(number)

    def data(self, number: int, data: bytes) -> None:
        for at in range(0, len(data), 16_384):
            self.h2.send_data(number, data[at : at + 16_384])

    def _take(self, event: Event) -> None:
        match event:
            case RequestReceived():
                headers = {str(name): str(value) for name, value in event.headers}
                self.requests[event.stream_id] = Request(headers)
            case DataReceived():
                self.requests[event.stream_id].data += event.data
                if self._acknowledges and event.flow_controlled_length:
                    self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            case StreamEnded():
                self.requests[event.stream_id].is_ended = True
            case StreamReset():
                self.requests[event.stream_id].reset = int(event.error_code)
            case PingAckReceived():
                self.pings += 1
            case ConnectionTerminated():
                self.is_gone = True
            case _:
                pass
