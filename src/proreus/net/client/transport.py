"""What a client sends its requests by: a pool of sockets, or a server in the same process.

``http_client.HttpClient`` is the one, ``in_process.InProcessHttp`` the other. Whatever breaks is a
``TransportError``; no answer's status is an error here.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from proreus.net.client.connectors import Route
    from proreus.net.client.http_client import Headers, HttpResponse
    from proreus.net.client.websocket import ClientWebSocket

RequestHeaders = Mapping[str, str | list[str]]


class AnswerStream(Protocol):
    """An open answer."""

    @property
    def status(self) -> int: ...

    @property
    def headers(self) -> Headers: ...

    async def read(self, limit: int = 1 << 20) -> bytes:
        """The body, at most ``limit`` bytes of it: for answers that are no stream but an error."""
        ...

    def chunks(self) -> AsyncIterator[bytes]:
        """Bytes as they arrive, until the server ends it."""
        ...

    async def next_chunk(self) -> bytes:
        """The next bytes; empty at the end."""
        ...


class Transport(Protocol):
    """See the module. Belongs to one loop; ``close`` ends it."""

    async def request(
        self, method: str, url: str, headers: RequestHeaders, body: bytes | None
    ) -> HttpResponse:
        """Send, and read the whole answer."""
        ...

    def stream(
        self, method: str, url: str, headers: RequestHeaders, body: bytes | None
    ) -> AbstractAsyncContextManager[AnswerStream]:
        """Send, and leave the answer open while the body of the ``async with`` reads it."""
        ...

    def websocket(
        self,
        url: str,
        headers: RequestHeaders,
        protocols: Sequence[str],
        *,
        message_bytes_max: int,
    ) -> AbstractAsyncContextManager[ClientWebSocket]:
        """A WebSocket while the body of the ``async with`` lasts. Raises UpgradeRefused."""
        ...

    async def retire(self) -> None:
        """End all streams now, and the rest once the requests under way are answered."""
        ...

    async def close(self) -> None: ...


TransportFactory = Callable[["Route"], Transport]
