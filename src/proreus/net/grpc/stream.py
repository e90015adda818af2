"""One call on a connection, as ``session`` keeps it, and who made it."""

from __future__ import annotations

from typing import Protocol

from proreus.net.grpc.failures import RpcFailed
from proreus.net.grpc.messages import Assembly


class Receiver(Protocol):
    """Who made a call."""

    backlog: int  # bytes it got and has not handed on

    def received(self, message: bytes) -> None: ...

    def ended(self, failure: RpcFailed | None) -> None: ...


class Stream:
    """One call. ``number`` 0: the peer does not allow it yet. ``ends``: nothing is sent on it
    behind ``unsent``."""

    __slots__ = ("assembly", "block", "ends", "number", "receiver", "unacked", "unsent", "window")

    def __init__(self, block: bytes, receiver: Receiver, *, ends: bool) -> None:
        self.number = 0
        self.block = block
        self.receiver = receiver
        self.unsent = b""
        self.ends = ends
        self.window = 0
        self.assembly: Assembly | None = None  # of a message that is not whole
        self.unacked = 0
