"""Several streams in one WebSocket: each message begins with the number of its channel. Pure.

A command (exec, attach) has its input, its two outputs, an error channel that ends it, and the size
of its terminal. Five spellings of this are known by their subprotocol; ``v5`` is the first that can
close a stream, which is how a command learns that its input is over.

Of a port-forward each port has two channels, data and errors, in the order of the ports.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from proreus.api.json_types import Json, JsonObject
from proreus.api.wire import json
from proreus.lazy_dataclass import dataclass

STDIN, STDOUT, STDERR, ERROR, RESIZE = range(5)
CLOSE = 255
# Not a protocol of the stream but a credential in its place; no server chooses it.
BEARER_PROTOCOL = "base64url.bearer.authorization.k8s.io."


class ChannelError(Exception):
    """A message that says no channel, or is no base64."""


class ChannelMessage(NamedTuple):
    channel: int
    payload: bytes


class ChannelClosed(NamedTuple):
    """The other end sends no more on ``channel``."""

    channel: int


@dataclass(frozen=True, slots=True)
class ChannelProtocol:
    """``has_status``: the error channel carries a Status, else plain text, and nothing if all is
    well. ``can_close``: one stream may end before the others. ``prefix_bytes``: what a message says
    before its payload; the payload is part of a stream of bytes and may be cut anywhere (base64: at
    groups of four)."""

    name: str
    is_base64: bool = False
    has_status: bool = True
    can_close: bool = False
    prefix_bytes: int = 1

    def encode(self, channel: int, payload: bytes) -> bytes:
        if self.is_base64:
            return b"%d%b" % (channel, base64.b64encode(payload))
        return bytes((channel,)) + payload

    def encode_close(self, channel: int) -> bytes:
        assert self.can_close, "only v5 closes streams"
        return bytes((CLOSE, channel))

    def decode(self, message: bytes | str) -> ChannelMessage | ChannelClosed:
        """Text and binary messages count the same. Raises ChannelError."""
        raw = message.encode() if isinstance(message, str) else message
        if not raw:
            raise ChannelError("an empty message")
        if self.is_base64:
            return self._decode_base64(raw)
        if raw[0] == CLOSE and self.can_close:
            if len(raw) != 2:
                raise ChannelError("a close that does not name one channel")
            return ChannelClosed(raw[1])
        return ChannelMessage(raw[0], raw[1:])

    def _decode_base64(self, raw: bytes) -> ChannelMessage:
        if not raw[:1].isdigit():
            raise ChannelError("a message that does not begin with a digit")
        try:
            return ChannelMessage(int(raw[:1]), base64.b64decode(raw[1:], validate=True))
        except ValueError as error:
            raise ChannelError(f"a message that is no base64: {error}") from error


V5 = ChannelProtocol("v5.channel.k8s.io", can_close=True)
V4 = ChannelProtocol("v4.channel.k8s.io")
V4_BASE64 = ChannelProtocol("v4.base64.channel.k8s.io", is_base64=True)
_OLD = ChannelProtocol("channel.k8s.io", has_status=False)
_OLD_BASE64 = ChannelProtocol("base64.channel.k8s.io", is_base64=True, has_status=False)
_UNNAMED_COMMAND = ChannelProtocol("", has_status=False)
_UNNAMED_FORWARD = ChannelProtocol("")
# A port-forward as SPDY frames inside WebSocket messages.
SPDY_TUNNEL = ChannelProtocol("SPDY/3.1+portforward.k8s.io", prefix_bytes=0)

# A log: nothing but its bytes.
_LOG = ChannelProtocol("binary.k8s.io", prefix_bytes=0)
_LOG_BASE64 = ChannelProtocol("base64.binary.k8s.io", is_base64=True, prefix_bytes=0)
_UNNAMED_LOG = ChannelProtocol("", prefix_bytes=0)

COMMAND_PROTOCOLS = (V5, V4, V4_BASE64, _OLD, _OLD_BASE64, _UNNAMED_COMMAND)
FORWARD_PROTOCOLS = (SPDY_TUNNEL, V4, V4_BASE64, _UNNAMED_FORWARD)
LOG_PROTOCOLS = (_LOG, _LOG_BASE64, _UNNAMED_LOG)


def choose(offered: Iterable[str], served: Sequence[ChannelProtocol]) -> ChannelProtocol | None:
    """The first one the client prefers; None if none of its own is served."""
    known: Mapping[str, ChannelProtocol] = {protocol.name: protocol for protocol in served}
    wanted = [name for name in offered if not name.startswith(BEARER_PROTOCOL)]
    if not wanted:
        return known.get("")
    return next((known[name] for name in wanted if name and name in known), None)


def port_announcement(port: int) -> bytes:
    """The first message on each channel of a port-forward."""
    return port.to_bytes(2, "little")


def terminal_size(payload: bytes) -> tuple[int, int] | None:
    """Width and height of a resize message; None if it says nothing usable."""
    try:
        said = json.decode(payload)
    except json.JSONDecodeError:
        return None
    if not isinstance(said, dict):
        return None
    width, height = said.get("Width"), said.get("Height")
    if not isinstance(width, int) or not isinstance(height, int):
        return None
    is_real = 0 < width < 65536 and 0 < height < 65536
    return (width, height) if is_real else None


def exit_status(code: int, command: Sequence[str] = ()) -> JsonObject:
    """The Status that ends a command."""
    if code == 0:
        return {"metadata": {}, "status": "Success"}
    why = f"error executing command [{' '.join(command)}], exit code {code}"
    return {
        "metadata": {},
        "status": "Failure",
        "message": f"command terminated with non-zero exit code: {why}",
        "reason": "NonZeroExitCode",
        "details": {"causes": [{"reason": "ExitCode", "message": str(code)}]},
    }


def exit_code(status: Json) -> int | None:
    """What a command's last Status says it returned; None if it failed in another way."""
    if status.get("status") == "Success":
        return 0
    if status.get("reason") != "NonZeroExitCode":
        return None
    for cause in (status.get("details") or {}).get("causes") or ():
        text = str(cause.get("message", ""))
        if cause.get("reason") == "ExitCode" and text.isascii() and text.isdecimal():
            return int(text)
    return None
