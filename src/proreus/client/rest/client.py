"""RestClient: one request in, one answer or stream out, with retries, rate limit and deadlines.

Receives: ``RestRequest``, from ``resources``.  Hands on: bytes, KubeObjects, streams, or raises
``ApiError`` (the server said no) or ``TransportError`` (nothing usable was said).
Invariant: a watch never waits for the rate limit when it first opens and never ends by a request's
deadline; everything else does.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from proreus.aio.clock import Clock, SystemClock, deadline
from proreus.aio.token_bucket import TokenBucket
from proreus.api.object import KubeObject, ObjectDecodeError
from proreus.api.object_list import ListDecoder, ObjectList
from proreus.api.status import ApiError, InternalError
from proreus.api.wire import json
from proreus.client.rest.failure import failure, is_success, raise_hidden_failure
from proreus.client.rest.identity import default_user_agent, impersonation_headers
from proreus.client.rest.observer import NO_OBSERVER, Observer
from proreus.client.rest.request import RestRequest
from proreus.client.rest.request_slots import RequestSlots
from proreus.client.rest.retry import Mode, RetryPolicy
from proreus.client.rest.warning import WarningHandler, log_warning, warnings_in
from proreus.net.client.transport_error import TransportError, TransportTimeout

if TYPE_CHECKING:
    from proreus.client.client_config import ClientConfig
    from proreus.client.credentials import Credential, CredentialSource
    from proreus.client.rest.connection import Connected
    from proreus.net.client.http_client import HttpResponse
    from proreus.net.client.transport import AnswerStream
    from proreus.net.client.websocket import ClientWebSocket

log = logging.getLogger(__name__)
_NO_ANSWER = "<error>"  # in place of a code
_SLOW_TURN_S = 1.0
_MESSAGE_BYTES_MAX = 32 * 1024 * 1024


class _Attempt:
    """``with`` it around one attempt; the observer is told how it ended."""

    __slots__ = ("_clock", "_observer", "_request", "_started", "code")

    def __init__(self, request: RestRequest, observer: Observer, clock: Clock) -> None:
        self._request = request
        self._observer = observer
        self._clock = clock
        self.code = _NO_ANSWER

    def __enter__(self) -> _Attempt:
        self._started = self._clock.monotonic()
        return self

    def __exit__(self, *exc: object) -> None:
        self._observer.request_done(
            verb=self._request.verb,
            method=self._request.method,
            code=self.code,
            duration_s=self._clock.monotonic() - self._started,
        )


class RestClient:
    """Sends requests to one server. Use as an async context manager."""

    def __init__(
        self,
        config: ClientConfig,
        *,
        clock: Clock | None = None,
        retry: RetryPolicy | None = None,
        on_warning: WarningHandler = log_warning,
        observer: Observer = NO_OBSERVER,
        credentials: CredentialSource | None = None,
    ) -> None:
        # Configuration, trust and credentials are loaded by the first client that is made.
        from proreus.client.config.address import server_url
        from proreus.client.rest.connection import Connections

        tls = config.tls
        is_secure = bool(tls.ca_file or tls.ca_data or tls.insecure or tls.cert_file)
        self.config = replace(config, host=server_url(config.host, secure=is_secure))
        self.clock: Clock = clock or SystemClock()
        self._retry = retry or RetryPolicy()
        self._on_warning = on_warning
        self._observer = observer
        self._connections = Connections(self.config, self.clock, credentials)
        rate = config.rate_limit
        self._bucket = (
            TokenBucket(self.clock, rate=rate.per_second, burst=rate.burst) if rate else None
        )
        limit = config.requests_at_once
        self._slots = RequestSlots(limit, self.clock) if limit is not None else None
        self._headers: dict[str, str | list[str]] = {
            "User-Agent": config.user_agent or default_user_agent(),
            **impersonation_headers(config.impersonate),
        }

    async def __aenter__(self) -> RestClient:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close all connections. Idempotent."""
        await self._connections.close()

    async def send(self, request: RestRequest) -> HttpResponse:
        """The successful answer to a request, repeated as the rules allow. Raises otherwise."""
        await self._wait_turn()
        try:
            async with deadline(self.clock, self.config.timeout_s):
                return await self._send(request)
        except TimeoutError as late:
            limit = f"no answer in {self.config.timeout_s:g} s"
            raise TransportTimeout(self._url(request), limit) from late

    async def get_json(self, request: RestRequest) -> Any:
        return json.decode((await self.send(request)).body)

    async def get_object(self, request: RestRequest) -> KubeObject:
        body = (await self.send(request)).body
        raise_hidden_failure(body)
        if not body:
            raise InternalError("the server answered a success without an object")
        try:
            return KubeObject.from_bytes(body)
        except ObjectDecodeError as problem:
            raise _unreadable(problem) from problem

    async def get_list(self, request: RestRequest) -> ObjectList:
        """Decoded in slices, so that a large list does not hold up the loop."""
        body = (await self.send(request)).body
        raise_hidden_failure(body)
        try:
            decoder = ListDecoder(body)
            while decoder.step():  # noqa: ASYNC110  # nothing is awaited: others get a turn
                await asyncio.sleep(0)
            return decoder.result()
        except ObjectDecodeError as problem:
            raise _unreadable(problem) from problem

    @contextlib.asynccontextmanager
    async def open_stream(self, request: RestRequest, mode: Mode) -> AsyncIterator[AnswerStream]:
        """A successful answer left open; only its opening is repeated and has a deadline."""
        if mode is not Mode.WATCH:
            await self._wait_turn()
        tried = 0
        while True:
            tried += 1
            async with contextlib.AsyncExitStack() as opened:
                try:
                    stream = await self._open(request, opened)
                except TransportError as error:
                    wait_s = self._retry.after_error(
                        error, method=request.method, mode=mode, tried=tried
                    )
                    if wait_s is None:
                        raise
                else:
                    if is_success(stream.status):
                        yield stream
                        return
                    wait_s = self._retry.after_answer(stream.status, stream.headers, tried=tried)
                    if wait_s is None:
                        raise await self._failure_of(request, stream)
            await self._pause(wait_s)

    @contextlib.asynccontextmanager
    async def open_websocket(
        self, request: RestRequest, protocols: Sequence[str]
    ) -> AsyncIterator[ClientWebSocket]:
        """A WebSocket, open while the body of the ``async with`` lasts; never repeated."""
        from proreus.net.client.http_client import UpgradeRefused

        await self._wait_turn()
        connected = await self._connections.current()
        headers = self._headers_of(request, connected.credential)
        url = self._url(request)
        async with contextlib.AsyncExitStack() as opened:
            try:
                with self._observed(request) as observed:
                    async with deadline(self.clock, self.config.timeout_s):
                        socket = await opened.enter_async_context(
                            connected.http.websocket(
                                url, headers, protocols, message_bytes_max=_MESSAGE_BYTES_MAX
                            )
                        )
                    observed.code = "101"
            except TimeoutError as late:
                raise TransportTimeout(url, "no answer before the deadline") from late
            except UpgradeRefused as refused:
                answer = refused.response
                self._note(connected, answer)
                raise failure(
                    request.method, url, answer.status, answer.headers, answer.body
                ) from refused
            yield socket

    async def _send(self, request: RestRequest) -> HttpResponse:
        tried = 0
        while True:
            tried += 1
            try:
                if self._slots is None:
                    response = await self._exchange(request)
                else:
                    async with self._slots:
                        response = await self._exchange(request)
            except TransportError as error:
                wait_s = self._retry.after_error(
                    error, method=request.method, mode=Mode.UNARY, tried=tried
                )
                if wait_s is None:
                    raise
            else:
                if is_success(response.status):
                    return response
                wait_s = self._retry.after_answer(response.status, response.headers, tried=tried)
                if wait_s is None:
                    url = self._url(request)
                    raise failure(
                        request.method, url, response.status, response.headers, response.body
                    )
            await self._pause(wait_s)

    async def _exchange(self, request: RestRequest) -> HttpResponse:
        connected = await self._connections.current()
        headers = self._headers_of(request, connected.credential)
        began_at, code = self.clock.monotonic(), _NO_ANSWER
        try:
            response = await connected.http.request(
                request.method, self._url(request), headers, request.body
            )
            code = str(response.status)
        finally:
            self._observer.request_done(
                verb=request.verb,
                method=request.method,
                code=code,
                duration_s=self.clock.monotonic() - began_at,
            )
        self._note(connected, response)
        return response

    async def _open(self, request: RestRequest, opened: contextlib.AsyncExitStack) -> AnswerStream:
        connected = await self._connections.current()
        url = self._url(request)
        headers = self._headers_of(request, connected.credential)
        try:
            with self._observed(request) as observed:
                async with deadline(self.clock, self.config.timeout_s):
                    stream = await opened.enter_async_context(
                        connected.http.stream(request.method, url, headers, request.body)
                    )
                observed.code = str(stream.status)
        except TimeoutError as late:
            raise TransportTimeout(url, "no answer before the deadline") from late
        self._note(connected, stream)
        return stream

    def _observed(self, request: RestRequest) -> _Attempt:
        return _Attempt(request, self._observer, self.clock)

    async def _failure_of(self, request: RestRequest, stream: AnswerStream) -> ApiError:
        url = self._url(request)
        try:
            async with deadline(self.clock, self.config.timeout_s):
                body = await stream.read()
        except (TimeoutError, TransportError):
            body = b""  # the code alone says enough
        return failure(request.method, url, stream.status, stream.headers, body)

    def _note(self, connected: Connected, answer: HttpResponse | AnswerStream) -> None:
        if answer.status == 401:
            self._connections.refused(connected.credential)
        for text in warnings_in(answer.headers.all("Warning")):
            self._on_warning(text)

    async def _pause(self, wait_s: float) -> None:
        await self.clock.sleep(wait_s)
        await self._wait_turn()

    async def _wait_turn(self) -> None:
        if self._bucket is None:
            return
        waited_s = await self._bucket.wait_token()
        self._observer.throttled(waited_s)
        if waited_s >= _SLOW_TURN_S:
            log.info("a request waited %.1f s for the client's own rate limit", waited_s)

    def _url(self, request: RestRequest) -> str:
        return self.config.host + request.target

    def _headers_of(
        self, request: RestRequest, credential: Credential
    ) -> dict[str, str | list[str]]:
        headers = {**self._headers, "Accept": request.accept, **request.headers}
        if request.body is not None:
            headers["Content-Type"] = request.content_type
        if credential.authorization:
            headers.setdefault("Authorization", credential.authorization)
        return headers


def _unreadable(problem: ObjectDecodeError) -> InternalError:
    """A success whose body cannot be read is the server's failure."""
    return InternalError(f"the server's answer cannot be read: {problem}")
