"""A session's requests to the API server: sent as its user, answered as they are answered.

Of what the browser sends, only headers that the API knows go along: neither its cookie nor anything
that would name another user. Answers get the headers that make them mere data for the browser.
Streams (watches, logs) go through as they come, no faster than the browser reads; WebSockets are
passed on as bytes.
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from proreus.aio.clock import Clock, deadline
from proreus.api.json_types import JsonObject
from proreus.api.status import (
    ApiError,
    BadRequest,
    ServiceUnavailable,
    TooLarge,
    TooManyRequests,
    Unauthorized,
)
from proreus.api.wire import json
from proreus.api.wire.channels import BEARER_PROTOCOL
from proreus.client import ClientConfig, TlsSettings
from proreus.client.credentials import Credential, TlsIdentity
from proreus.dashboard.policy import DATA_HEADERS
from proreus.dashboard.sessions import REQUESTS_MAX, Session, Visitor
from proreus.net.client.proxying import (
    OF_CONNECTION,
    WITHOUT_BODY,
    connection_options,
    content_length,
    send_on,
    sendable,
)
from proreus.net.client.transport_error import TransportError
from proreus.net.http1.messages import (
    Answer,
    BodyTooLarge,
    BodyUnreadable,
    Pieces,
    Request,
    Response,
    Streamed,
)
from proreus.net.websocket.handshake import offered_protocols

if TYPE_CHECKING:
    from proreus.net.client.http_client import Headers, HttpClient

_USER_AGENT = "proreus-dashboard/1"  # and so the field manager of what is written
_PASSED = (
    "Accept", "Accept-Language", "Content-Type", "If-Match", "If-None-Match", "Origin",
    "Sec-WebSocket-Key", "Sec-WebSocket-Version",
)  # fmt: skip
# Answers have these of ours, or not at all: extensions of a WebSocket were not asked for.
_OWN_ANSWER = OF_CONNECTION | {"content-length", "date", "set-cookie"}
_OWN_ANSWER |= {name.lower() for name, _ in DATA_HEADERS}
_BODY_BYTES_MAX = 3 * 1024 * 1024  # as the API server takes
_SHORT_BYTES = 256 * 1024
_HEAD_S = 75.0  # until an answer begins: longer than the API server gives a request
_REVIEW = "/apis/authentication.k8s.io/v1/selfsubjectreviews"


class ApiServerLink:
    """The API server as ``config`` says where it is; its credentials, if it has any, are unused.

    ``close`` ends what is under way.
    """

    def __init__(self, config: ClientConfig, clock: Clock) -> None:
        self._host = config.host.rstrip("/")
        where = urlsplit(self._host)
        self.scheme = where.scheme
        self._hostname = config.tls.server_name or where.hostname or ""
        self._address = (where.hostname or "", where.port or (443 if self.is_secure else 80))
        # Whoever asks through us shows a token of their own, never our certificate.
        trust = TlsSettings(
            config.tls.ca_file, config.tls.ca_data, config.tls.insecure, config.tls.server_name
        )
        self._tls = TlsIdentity(trust, clock) if self.is_secure else None
        self._clock = clock
        self._http: HttpClient | None = None

    @property
    def is_secure(self) -> bool:
        return self.scheme == "https"

    async def log_in(self, token: str) -> Visitor:
        """Whom the API server takes the owner of a token for. Raises Unauthorized,
        ServiceUnavailable, and whatever else it answers."""
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
        headers = {**_authorization(token), "Content-Type": "application/json"}
        try:
            async with deadline(self._clock, _HEAD_S):
                answer = await self._client().request(
                    "POST", f"{self._host}{_REVIEW}", headers, json.encode(body),
                    answer_bytes_max=_SHORT_BYTES,
                )  # fmt: skip
        except (TransportError, TimeoutError) as error:
            raise _unreachable(error) from error
        review: JsonObject = json.decode(answer.body)
        if answer.status >= 400:
            raise ApiError.from_status(review)
        user = review["status"]["userInfo"]
        if user["username"] == "system:anonymous":
            raise Unauthorized.default()
        return Visitor(user["username"], tuple(user.get("groups") or ()), token)

    async def forward(
        self, session: Session, request: Request, target: str, *, upgrades: bool
    ) -> Answer:
        """``target``: path and query at the API server. Raises ApiError if it cannot be asked."""
        if len(session.requests) >= REQUESTS_MAX:
            raise TooManyRequests.of("too many requests of this session are under way", 1)
        headers = _request_headers(request, session.visitor.token)
        with session.requests.counted():
            try:
                if upgrades:
                    return await self._upgraded(request, target, headers)
                return await self._answered(request, target, headers)
            except (TransportError, TimeoutError) as error:
                raise _unreachable(error) from error
            finally:
                session.used_at = self._clock.monotonic()

    async def close(self) -> None:
        if self._http is not None:
            await self._http.close()
            self._http = None

    async def _answered(
        self, request: Request, target: str, headers: dict[str, str | list[str]]
    ) -> Answer:
        body = await _read_body(request)
        url = f"{self._host}{target}"
        async with AsyncExitStack() as opened:
            async with deadline(self._clock, _HEAD_S):
                answer = await opened.enter_async_context(
                    self._client().stream(request.method, url, headers, body or None)
                )
            head = _answer_head(answer.headers)
            length = content_length(answer)
            if request.method == "HEAD" or answer.status in WITHOUT_BODY:
                return Response(answer.status, head, Pieces(length or 0, iter(())))
            if length is not None and length <= _SHORT_BYTES:
                return Response(answer.status, head, await answer.read(_SHORT_BYTES))
            return await send_on(request, answer, head)

    async def _upgraded(
        self, request: Request, target: str, headers: dict[str, str | list[str]]
    ) -> Answer:
        from proreus.net.client.upgrade import UpgradeRequest, ask_upgrade

        # A token among the protocols would name another user than the session's.
        offered = [one for one in offered_protocols(request) if not one.startswith(BEARER_PROTOCOL)]
        if offered:
            headers["Sec-WebSocket-Protocol"] = ", ".join(offered)
        sent = {
            **headers,
            "Host": self._host.partition("://")[2],
            "Connection": "Upgrade",
            "Upgrade": request.headers["Upgrade"],
        }
        asked = UpgradeRequest(request.method, target, sent)
        async with AsyncExitStack() as opened:
            async with deadline(self._clock, _HEAD_S):
                answer = await opened.enter_async_context(
                    ask_upgrade(self._address, asked, self._context(), self._hostname)
                )
            if answer.status == 101:
                await answer.relay(request)
                return Streamed(keep_alive=False, status=101)
            return Response(answer.status, _answer_head(answer.headers), await answer.read_body())

    def _client(self) -> HttpClient:
        if self._http is None:
            from proreus.net.client.connectors import Route
            from proreus.net.client.http_client import HttpClient

            self._http = HttpClient(
                Route(
                    ssl=self._context(),
                    server_hostname=self._hostname if self.is_secure else None,
                    compressed=False,
                    decompress=False,
                    follow_redirects=False,
                )
            )
        return self._http

    def _context(self) -> ssl.SSLContext | None:
        return self._tls.context(Credential()) if self._tls is not None else None

    def __repr__(self) -> str:
        return f"<ApiServerLink {self._host}>"


async def _read_body(request: Request) -> bytes:
    try:
        return await request.read_body(_BODY_BYTES_MAX)
    except BodyTooLarge as error:
        raise TooLarge(f"Request entity too large: limit is {_BODY_BYTES_MAX}") from error
    except BodyUnreadable as error:
        raise BadRequest(f"the body of the request could not be read: {error}") from error


def _request_headers(request: Request, token: str) -> dict[str, str | list[str]]:
    given = request.headers
    headers: dict[str, str | list[str]] = {
        name: [sendable(value) for value in given.getall(name)] for name in _PASSED if name in given
    }
    browser = sendable(given.get("User-Agent", ""))
    headers["User-Agent"] = f"{_USER_AGENT} {browser}".rstrip()
    if request.peer_address:
        headers["X-Forwarded-For"] = request.peer_address
    return {**headers, **_authorization(token)}


def _authorization(token: str) -> Mapping[str, str]:
    return {"Authorization": f"Bearer {token}"}


def _answer_head(answered: Headers) -> tuple[tuple[str, str], ...]:
    dropped = _OWN_ANSWER | connection_options(answered.all("Connection"))
    given = ((name.title(), value) for name, value in answered.pairs() if name not in dropped)
    return (*given, *DATA_HEADERS)


def _unreachable(error: Exception) -> ServiceUnavailable:
    why = error.why if isinstance(error, TransportError) else "it does not answer"
    return ServiceUnavailable(f"the API server cannot be reached: {why}")
