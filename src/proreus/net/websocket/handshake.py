"""How a request becomes a WebSocket: the handshake (server.md §5.5)."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from typing import TYPE_CHECKING

from proreus.api.wire.channels import BEARER_PROTOCOL
from proreus.net.http1.messages import Request

if TYPE_CHECKING:
    from proreus.net.websocket.frames import Cut
    from proreus.net.websocket.stream import WebSocketStream

KEY_SUFFIX = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"  # RFC 6455, 1.3
_MESSAGE_BYTES_MAX = 64 * 1024
# As much as kube-apiserver and the kubelet take in one message (golang.org/x/net/websocket).
_STREAM_MESSAGE_BYTES_MAX = 32 * 1024 * 1024
# What a stream may hold of one message at a time. kubectl, the kubelet and container runtimes send
# 32 KiB; only what comes in fragments, or from a kubelet, can be as long as this.
STREAM_PIECE_BYTES_MAX = 1024 * 1024


class BadHandshake(Exception):
    """``status`` and text of the plain answer to a request that is no proper upgrade."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def is_upgrade(headers: Mapping[str, str]) -> bool:
    options = headers.get("Connection", "").lower().split(",")
    return headers.get("Upgrade", "").lower() == "websocket" and "upgrade" in map(
        str.strip, options
    )


def accept_watch(request: Request) -> WebSocketStream:
    """Answer the handshake of a watch. Raises BadHandshake."""
    offered = [one for one in offered_protocols(request) if not one.startswith(BEARER_PROTOCOL)]
    if not request.headers.get("Origin") and _is_proper(request):
        raise BadHandshake(403, "null origin")
    if len(offered) > 1:
        raise BadHandshake(400, "more than one websocket protocol offered")
    return accept(request, protocol=offered[0] if offered else "")


def accept_stream(request: Request, *, protocol: str, prefix_bytes: int) -> WebSocketStream:
    """Answer the handshake of a stream of bytes, whose messages arrive in pieces if they are long;
    each piece repeats ``prefix_bytes`` (``frames.Cut``). Raises BadHandshake."""
    from proreus.net.websocket.frames import Cut

    cut = Cut(prefix_bytes, _STREAM_MESSAGE_BYTES_MAX)
    return accept(request, protocol=protocol, message_bytes_max=STREAM_PIECE_BYTES_MAX, cut=cut)


def accept(
    request: Request,
    *,
    protocol: str,
    message_bytes_max: int = _MESSAGE_BYTES_MAX,
    cut: Cut | None = None,
) -> WebSocketStream:
    """Answer the handshake, choosing ``protocol`` ("" for none). Raises BadHandshake."""
    if not _is_proper(request):
        raise BadHandshake(400, "bad websocket handshake")
    key = request.headers["Sec-WebSocket-Key"].encode()
    # Not for secrecy: the protocol proves by it that the server has understood the upgrade.
    digest = hashlib.sha1(key + KEY_SUFFIX, usedforsecurity=False).digest()
    if request.on_started is not None:
        request.on_started(101)
    chosen = f"Sec-WebSocket-Protocol: {protocol}\r\n" if protocol else ""
    request.transport.write(
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Accept: %b\r\n%b\r\n" % (base64.b64encode(digest), chosen.encode())
    )
    from proreus.net.websocket.stream import WebSocketStream

    return WebSocketStream(request, message_bytes_max, cut)


def offered_protocols(request: Request) -> list[str]:
    """The subprotocols the client can speak, as it prefers them."""
    return [
        name.strip()
        for value in request.headers.getall("Sec-WebSocket-Protocol", ())
        for name in value.split(",")
        if name.strip()
    ]


def _is_proper(request: Request) -> bool:
    headers = request.headers
    if request.content_length or "Transfer-Encoding" in headers:
        return False
    try:
        nonce = base64.b64decode(headers.get("Sec-WebSocket-Key", ""), validate=True)
    except ValueError:
        return False
    return len(nonce) == 16 and headers.get("Sec-WebSocket-Version") == "13"
