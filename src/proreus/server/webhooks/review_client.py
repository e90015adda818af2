"""Reviews posted to a webhook of the server's own configuration: who someone is, what they may do.

A review is a JSON object that is sent without its status and comes back with it. A call that failed
for the moment is made again with a growing delay, as kube-apiserver does: after an answer 429, 500
or 504, one with Retry-After, or a connection that broke.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urlsplit

from proreus.aio.backoff import Backoff
from proreus.aio.clock import Clock, deadline
from proreus.api.json_types import JsonObject
from proreus.api.values.duration import format_duration
from proreus.api.wire import json
from proreus.net.client.transport_error import ConnectionLost, TransportError, TransportTimeout
from proreus.server.webhooks.client import (
    CallError,
    CallFailed,
    CallRejected,
    failure_text,
    rejection,
)
from proreus.server.webhooks.connections import WebhookConnections
from proreus.server.webhooks.kubeconfig import WebhookAddress

if TYPE_CHECKING:
    from proreus.net.client.http_client import HttpResponse

ANSWER_BYTES_MAX = 1024 * 1024  # decoding it holds the loop for some milliseconds
ATTEMPTS = 5
_BACKOFF_S, _BACKOFF_FACTOR, _JITTER = 0.5, 1.5, 0.2
_HEADERS = {"Content-Type": "application/json", "Accept": "application/json, */*"}
_RETRIED = frozenset({429, 500, 504})
SUCCESS, TIMEOUT, CANCELED, ERROR = "success", "timeout", "canceled", "error"
T = TypeVar("T")

# Called after each attempt with its outcome, one of the above, and how many seconds it took.
Observe = Callable[[str, float], None]


class _Retriable(Exception):
    """An attempt that failed, and may not the next time. ``failure``: reported after the last."""

    def __init__(self, failure: CallError) -> None:
        super().__init__()
        self.failure = failure


class ReviewClient:
    """Connections are kept between calls and bounded in number; ``close`` ends them.

    Redirects are not followed: the credentials are for one address.
    """

    def __init__(self, address: WebhookAddress, clock: Clock, timeout_s: float) -> None:
        """``timeout_s``: how long one attempt may take, the wait for a connection included."""
        self._address = address
        self._clock = clock
        self._timeout_s = timeout_s
        parts = urlsplit(address.url)
        timeout = f"timeout={format_duration(timeout_s)}"
        query = f"{parts.query}&{timeout}" if parts.query else timeout
        self._url = parts._replace(query=query).geturl()
        self._place = parts.netloc.rpartition("@")[2]  # a password may stand before it
        self._shown = parts._replace(netloc=self._place, query=timeout).geturl()
        self._connections = WebhookConnections(address.route)

    async def review(
        self, review: JsonObject, read: Callable[[JsonObject], T], observe: Observe
    ) -> T:
        """What ``read`` makes of the status that the webhook gave. Raises CallError.

        ``read`` raises CallRejected.
        """
        body = json.encode(review)
        backoff = Backoff(self._clock, initial_s=_BACKOFF_S, factor=_BACKOFF_FACTOR, jitter=_JITTER)
        try:
            for _ in range(ATTEMPTS - 1):
                try:
                    return await self._attempt(review, body, read, observe)
                except _Retriable:
                    await self._clock.sleep(backoff.next())
            try:
                return await self._attempt(review, body, read, observe)
            except _Retriable as last:
                raise last.failure from None
        finally:
            await self._connections.after_call()

    async def close(self) -> None:
        await self._connections.close()

    async def retire(self) -> None:
        """Close once the calls under way are answered."""
        await self._connections.retire()

    async def _attempt(
        self,
        review: JsonObject,
        body: bytes,
        read: Callable[[JsonObject], T],
        observe: Observe,
    ) -> T:
        """Raises CallError, _Retriable."""
        begun = self._clock.monotonic()
        outcome = ERROR
        try:
            answer = await self._post(body)
            if 200 <= answer.status <= 206:
                found = read(_status(review, answer.body))
                outcome = SUCCESS
                return found
            if answer.status == 504:
                outcome = TIMEOUT
            rejected = CallRejected(rejection(answer))
            if answer.status in _RETRIED or answer.headers.get("Retry-After"):
                raise _Retriable(rejected)
            raise rejected
        except (TransportError, TimeoutError) as error:
            if isinstance(error, TransportTimeout | TimeoutError):
                outcome = TIMEOUT
            failed = CallFailed(f'Post "{self._shown}": {failure_text(error, self._place)}')
            if isinstance(error, ConnectionLost):
                raise _Retriable(failed) from error
            raise failed from error
        except asyncio.CancelledError:
            outcome = CANCELED
            raise
        finally:
            observe(outcome, self._clock.monotonic() - begun)

    async def _post(self, body: bytes) -> HttpResponse:
        headers = {**_HEADERS, **self._address.headers}
        async with deadline(self._clock, self._timeout_s):
            return await self._connections.post(
                self._url, headers, body, answer_bytes_max=ANSWER_BYTES_MAX
            )

    def __repr__(self) -> str:
        return f"<ReviewClient {self._shown}>"


def _status(review: JsonObject, body: bytes) -> JsonObject:
    """Raises CallRejected unless the answer is a review of the same kind and version."""
    try:
        answer = json.decode(body)
    except ValueError as error:
        raise CallRejected("the webhook's answer is not JSON") from error
    if not isinstance(answer, dict):
        raise CallRejected("the webhook's answer is no object")
    for name in ("kind", "apiVersion"):
        if answer.get(name) != review[name]:
            raise CallRejected(f"the webhook's answer has another {name} than {review[name]}")
    status = answer.get("status")
    if status is not None and not isinstance(status, dict):
        raise CallRejected("the status of the webhook's answer is no object")
    return status or {}
