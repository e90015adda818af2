"""The connections to one webhook, kept between calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from proreus.server.webhooks.sent_requests import NO_ANSWER, SENT

if TYPE_CHECKING:
    from proreus.net.client.connectors import Route
    from proreus.net.client.http_client import HttpClient, HttpResponse


class WebhookConnections:
    """``route`` is asked at the first call, and may raise then."""

    def __init__(self, route: Callable[[], Route]) -> None:
        self._route = route
        self._client: HttpClient | None = None
        self._is_retired = False

    async def post(
        self,
        url: str,
        headers: Mapping[str, str],
        body: bytes,
        *,
        answer_bytes_max: int | None = None,
    ) -> HttpResponse:
        """Raises TransportError, and what ``route`` raises."""
        if self._client is None:
            from proreus.net.client.http_client import HttpClient

            self._client = HttpClient(self._route())
        code = NO_ANSWER
        try:
            answer = await self._client.request(
                "POST", url, headers, body, answer_bytes_max=answer_bytes_max
            )
            code = str(answer.status)
        finally:
            # A service by its name: the URL has the address of one of its pods.
            SENT.count(code, "POST", headers.get("Host") or urlsplit(url).netloc.rpartition("@")[2])
        return answer

    async def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    async def retire(self) -> None:
        """Close once the calls under way are answered; one that comes late closes after itself."""
        self._is_retired = True
        client, self._client = self._client, None
        if client is not None:
            await client.retire()

    async def after_call(self) -> None:
        """To be awaited after each call, also one that failed."""
        if self._is_retired:
            await self.close()
