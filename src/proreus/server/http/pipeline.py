"""The ordered stages of a request. Start reading at ``Pipeline.stages``.

A stage learns something about the exchange or refuses it by raising; one that has nothing to wait
for returns None. Failures become answers in one place, ``handle``; nothing outside it can fail.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import structlog

from proreus.aio.clock import Clock, deadline
from proreus.api.status import BadRequest, ServiceUnavailable, Timeout
from proreus.api.values.duration import parse_duration
from proreus.api.wire.path import ApiPath, BadPathEscape
from proreus.api.wire.query import first
from proreus.net.http_request import Answer, Request, Response
from proreus.net.websocket import is_upgrade
from proreus.server.authn.chain import Authentication, Credentials
from proreus.server.authn.impersonation import IMPERSONATION_HEADERS, impersonated
from proreus.server.authz.authorizer import Action, Authorization
from proreus.server.http import errors
from proreus.server.http.deadlines import Deadlines
from proreus.server.http.exchange import AuditIds, Exchange
from proreus.server.http.limits import InFlight, TooBusy
from proreus.server.http.metrics import RequestMetrics
from proreus.server.registry.user import User

Next = Callable[[Exchange], Awaitable[Answer]]
Stage = Callable[[Exchange], Awaitable[None] | None]

_log = structlog.get_logger(__name__)
_TIMEOUT_S = 60.0
_WRITE_TIMEOUT_S = 34.0
_SLOW_S = 1.0
_STILL_SERVED = frozenset({"/healthz", "/livez", "/readyz", "/metrics"})


@dataclass(slots=True, kw_only=True)
class Pipeline:
    """``dispatch`` is what all stages stand before. ``is_ending`` is set once for good."""

    clock: Clock
    authentication: Authentication
    authorization: Authorization
    metrics: RequestMetrics
    dispatch: Next
    deadlines: Deadlines
    reads: InFlight = field(default_factory=lambda: InFlight(400, 4000))
    writes: InFlight = field(default_factory=lambda: InFlight(200, 4000))
    is_ending: bool = False
    stages: tuple[Stage, ...] = field(init=False)
    _audit_ids: AuditIds = field(default_factory=AuditIds, init=False)

    def __post_init__(self) -> None:
        """``stages``: what a request passes, in this order, before it is dispatched."""
        self.stages = (self.refuse_when_ending, self.authenticate, self.impersonate, self.authorize)
        self.metrics.in_flight = {
            "readOnly": lambda: self.reads.active,
            "mutating": lambda: self.writes.active,
        }

    async def handle(self, request: Request) -> Answer:
        """The server's handler: every request enters here and is measured, whatever becomes of it.

        Around the stages: failures become answers, work in progress is limited, time too.
        """
        begun = self.clock.monotonic()
        try:
            exchange = Exchange(request)
        except BadPathEscape:
            content = ("Content-Type", "text/plain; charset=utf-8")
            return Response(400, (content,), b"400 Bad Request", close=True)
        exchange.audit_id = request.headers.get("Audit-Id") or self._audit_ids.next()
        try:
            answer = await (
                self._streamed(exchange) if exchange.is_long_running else self._limited(exchange)
            )
        except ConnectionError:
            raise  # nobody is left to be told
        except Exception as error:
            answer = errors.answer(exchange, errors.to_api_error(exchange, error))
        self._measure(exchange, answer, self.clock.monotonic() - begun)
        return answer

    async def _streamed(self, exchange: Exchange) -> Answer:
        self.metrics.long_running(exchange, 1)
        try:
            return await self._staged(exchange)
        finally:
            self.metrics.long_running(exchange, -1)

    async def _limited(self, exchange: Exchange) -> Answer:
        limit_s = _TIMEOUT_S if exchange.is_read else _WRITE_TIMEOUT_S
        entry = self.deadlines.begin(limit_s)
        try:
            if "timeout" in exchange.request.raw_query:
                async with deadline(self.clock, _asked_timeout(exchange, limit_s)):
                    return await self._in_line(exchange)
            return await self._in_line(exchange)
        except TimeoutError as error:
            raise _too_late() from error
        except asyncio.CancelledError:
            if self.deadlines.is_cause(entry):
                raise _too_late() from None
            raise
        finally:
            self.deadlines.end(entry)

    async def _in_line(self, exchange: Exchange) -> Answer:
        line = self.reads if exchange.is_read else self.writes
        try:
            await line.enter()
        except TooBusy:
            self.metrics.rejected += 1
            text = "Too many requests, please try again later.\n"
            return exchange.text(429, text, ("Retry-After", "1"))
        try:
            return await self._staged(exchange)
        finally:
            line.leave()

    async def _staged(self, exchange: Exchange) -> Answer:
        for stage in self.stages:
            pending = stage(exchange)
            if pending is not None:
                await pending
        return await self.dispatch(exchange)

    def refuse_when_ending(self, exchange: Exchange) -> None:
        if self.is_ending and exchange.path not in _STILL_SERVED:
            raise ServiceUnavailable("apiserver is shutting down", details={"retryAfterSeconds": 1})

    def authenticate(self, exchange: Exchange) -> Awaitable[None] | None:
        certificate = exchange.request.peer_certificate
        authorization = exchange.headers.get("Authorization", "")
        if certificate is None and (user := self.authentication.remembered(authorization)):
            exchange.user = user
            return None
        return self._authenticate(exchange, authorization, certificate)

    async def _authenticate(
        self, exchange: Exchange, authorization: str, certificate: Mapping[str, Any] | None
    ) -> None:
        protocol = ""
        if is_upgrade(exchange.headers):
            protocol = exchange.headers.get("Sec-WebSocket-Protocol", "")
        given = Credentials(authorization, protocol, certificate)
        exchange.user = await self.authentication.user(given)

    def impersonate(self, exchange: Exchange) -> None:
        headers = exchange.headers
        for name in IMPERSONATION_HEADERS:
            if name in headers:
                self._impersonate(exchange)
                return

    def _impersonate(self, exchange: Exchange) -> None:
        wanted = impersonated(exchange.request.headers.items())
        if wanted is not None:
            for action in _impersonations(exchange, wanted):
                self.authorization.check(action)
            exchange.user = wanted

    def authorize(self, exchange: Exchange) -> None:
        self.authorization.check(action_of(exchange))

    def _measure(self, exchange: Exchange, answer: Answer, took: float) -> None:
        code = answer.status if isinstance(answer, Response) else 200
        self.metrics.observe(exchange, code, took)
        if took > _SLOW_S and not exchange.is_long_running:
            _log.warning(
                "slow request",
                method=exchange.method,
                path=exchange.path,
                code=code,
                seconds=round(took, 3),
                user=exchange.user.name,
                audit_id=exchange.audit_id,
            )


def _too_late() -> Timeout:
    text = "Timeout: request did not complete within the allotted timeout"
    return Timeout(text, details={})


def action_of(exchange: Exchange) -> Action:
    target = exchange.target
    if not isinstance(target, ApiPath):
        return Action(user=exchange.user, verb=exchange.verb, path=exchange.path)
    return Action(
        user=exchange.user,
        verb=exchange.verb,
        group=target.group,
        version=target.version,
        resource=target.resource,
        subresource=target.subresource,
        namespace=target.namespace,
        name=target.name,
    )


def _asked_timeout(exchange: Exchange, limit_s: float) -> float:
    """A request may only shorten its time; zero and less mean the default."""
    text = first(exchange.query, "timeout")
    if not text:
        return limit_s
    try:
        asked = parse_duration(text)
    except ValueError as error:
        raise BadRequest(f"invalid timeout specified in the request URL - {error}") from error
    return min(asked, limit_s) if asked > 0 else limit_s


def _impersonations(exchange: Exchange, wanted: User) -> Iterator[Action]:
    """Everything one must be allowed to take on."""
    namespace, _, name = wanted.name.removeprefix("system:serviceaccount:").partition(":")
    if wanted.name.startswith("system:serviceaccount:"):
        yield Action(
            user=exchange.user,
            verb="impersonate",
            resource="serviceaccounts",
            namespace=namespace,
            name=name,
        )
    else:
        yield Action(user=exchange.user, verb="impersonate", resource="users", name=wanted.name)
    for group in exchange.request.headers.getall("Impersonate-Group", ()):
        yield Action(user=exchange.user, verb="impersonate", resource="groups", name=group)
    if wanted.uid:
        yield Action(
            user=exchange.user,
            verb="impersonate",
            group="authentication.k8s.io",
            resource="uids",
            name=wanted.uid,
        )
    for key, values in wanted.extra.items():
        for value in values:
            yield Action(
                user=exchange.user,
                verb="impersonate",
                group="authentication.k8s.io",
                resource="userextras",
                subresource=key,
                name=value,
            )
