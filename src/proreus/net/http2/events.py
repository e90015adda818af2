"""What a session finds in what it receives, and the streams that it is about."""

from __future__ import annotations

from typing import NamedTuple

from proreus.net.http1.messages import Head

BODY_BYTES = 128 * 1024  # of one request, that were not read yet


class StreamFlow:
    """A stream that is open: what may still be sent on it, both ways."""

    __slots__ = ("consumed", "has_request", "incoming", "missing", "number", "outgoing")

    def __init__(self, number: int, outgoing: int, missing: int | None) -> None:
        self.number = number
        self.outgoing = outgoing  # bytes that the client takes
        self.incoming = BODY_BYTES  # bytes that we take
        self.consumed = 0  # of those that came, not given back yet
        self.missing = missing  # of the body, if its length was said
        self.has_request = False  # all of it has come

    def __repr__(self) -> str:
        return f"<StreamFlow {self.number}: {self.outgoing} B out, {self.incoming} B in>"


class RequestBegun(NamedTuple):
    stream: StreamFlow
    head: Head
    has_body: bool


class BodyReceived(NamedTuple):
    """Its bytes count against the window until ``ServerSession.credit``."""

    stream: StreamFlow
    data: bytes
    is_last: bool


class StreamReset(NamedTuple):
    """The stream is over: by its client, or since what came on it is malformed."""

    stream: StreamFlow


class WindowGrown(NamedTuple):
    """More may be sent: on one stream, or on all."""

    stream: StreamFlow | None


Event = RequestBegun | BodyReceived | StreamReset | WindowGrown
