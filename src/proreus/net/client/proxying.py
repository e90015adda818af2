"""What every one of our proxies does: which headers stay on a connection, and an answer sent on.

Used where a request is handed to another HTTP server and its answer comes back as it is: API
servers behind this one (``server/http/handlers/aggregated``) and the dashboard's way to the API
server (``dashboard/forwarding``).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from proreus.net.client.transport_error import TransportError
from proreus.net.http1.messages import Request, Streamed

if TYPE_CHECKING:
    from proreus.net.client.http_client import ByteStream

# What belongs to one connection (RFC 9110, 7.6.1).
OF_CONNECTION = frozenset(
    {"connection", "proxy-connection", "keep-alive", "proxy-authenticate", "proxy-authorization",
     "te", "trailer", "transfer-encoding", "upgrade"}
)  # fmt: skip
WITHOUT_BODY = frozenset({204, 304})


def connection_options(connection: Iterable[str]) -> set[str]:
    """What the values of a Connection header name: other headers of this connection alone."""
    return {option.strip().lower() for value in connection for option in value.split(",")}


def wants_upgrade(request: Request) -> bool:
    options = connection_options(request.headers.getall("Connection", ()))
    return "Upgrade" in request.headers and "upgrade" in options


def sendable(value: str) -> str:
    """Bytes that are no text came as surrogates, which cannot be sent."""
    return value if value.isascii() else value.encode("utf-8", "replace").decode("utf-8")


def content_length(answer: ByteStream) -> int | None:
    """None: the answer does not say, or nonsense."""
    said = answer.headers.get("Content-Length")
    return int(said) if said.isdecimal() and len(said) < 16 else None


async def send_on(
    request: Request, answer: ByteStream, head: Iterable[tuple[str, str]], begun: bytes = b""
) -> Streamed:
    """The answer as it comes, no faster than the client reads; ``begun``: what was read of it. One
    that breaks off breaks off for the client too: no other may follow on its connection."""
    stream = request.open_stream(head, answer.status)
    is_whole = False
    try:
        if begun:
            stream.write(begun)
            await request.wait_written()
        while piece := await answer.next_chunk():
            stream.write(piece)
            await request.wait_written()
        is_whole = True
    except TransportError:
        return Streamed(keep_alive=False, status=answer.status)
    finally:
        # A deadline may end it in the middle.
        if is_whole:
            stream.end()
        else:
            stream.abort()
    return Streamed(status=answer.status)
