"""The ordered stages of a request. Start reading at ``Pipeline.stages``.

A stage gets the exchange and what comes after it; it may answer itself, raise, or go on. Failures
become answers in one stage, ``tell_failures``; what is outside it cannot fail.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field

import structlog

from proreus.aio.clock import Clock, deadline
from proreus.api.status import BadRequest, ServiceUnavailable, Timeout
from proreus.api.values.duration import parse_duration
from proreus.api.wire.path import ApiPath, BadPathEscape
from proreus.api.wire.query import first
from proreus.net.http_server import Answer, Request, Response
from proreus.server.authn.chain import Authentication, Credentials
from proreus.server.authn.impersonation import impersonated
from proreus.server.authz.authorizer import Action, Authorization
from proreus.server.http import errors
from proreus.server.http.exchange import Exchange, new_audit_id
from proreus.server.http.limits import InFlight, TooBusy
from proreus.server.http.metrics import RequestMetrics
from proreus.server.registry.user import User

Next = Callable[[Exchange], Awaitable[Answer]]
Stage = Callable[[Exchange, Next], Awaitable[Answer]]

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
    reads: InFlight = field(default_factory=lambda: InFlight(400, 4000))
    writes: InFlight = field(default_factory=lambda: InFlight(200, 4000))
    is_ending: bool = False
    _entry: Next | None = None

    @property
    def stages(self) -> tuple[Stage, ...]:
        return (
            self.measure,
            self.tell_failures,
            self.refuse_when_ending,
            self.authenticate,
            self.impersonate,
            self.set_deadline,
            self.limit,
            self.authorize,
        )

    async def handle(self, request: Request) -> Answer:
        """The server's handler: every request enters here."""
        try:
            exchange = Exchange(request)
        except BadPathEscape:
            content = ("Content-Type", "text/plain; charset=utf-8")
            return Response(400, (content,), b"400 Bad Request", close=True)
        exchange.audit_id = request.headers.get("Audit-Id") or new_audit_id()
        if self._entry is None:
            self._entry = _composed(self.stages, self.dispatch)
        return await self._entry(exchange)

    async def measure(self, exchange: Exchange, go_on: Next) -> Answer:
        begun = self.clock.monotonic()
        answer = await go_on(exchange)
        took = self.clock.monotonic() - begun
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
        return answer

    async def tell_failures(self, exchange: Exchange, go_on: Next) -> Answer:
        try:
            return await go_on(exchange)
        except ConnectionError:
            raise  # nobody is left to be told
        except Exception as error:
            return errors.answer(exchange, errors.to_api_error(exchange, error))

    async def refuse_when_ending(self, exchange: Exchange, go_on: Next) -> Answer:
        if self.is_ending and exchange.path not in _STILL_SERVED:
            error = ServiceUnavailable(
                "apiserver is shutting down", details={"retryAfterSeconds": 1}
            )
            answer = errors.answer(exchange, error)
            return Response(answer.status, answer.headers, answer.body, close=True)
        return await go_on(exchange)

    async def authenticate(self, exchange: Exchange, go_on: Next) -> Answer:
        request = exchange.request
        exchange.user = await self.authentication.user(
            Credentials(
                exchange.headers.get("Authorization", ""),
                exchange.headers.get("Sec-WebSocket-Protocol", ""),
                request.peer_certificate,
            )
        )
        return await go_on(exchange)

    async def impersonate(self, exchange: Exchange, go_on: Next) -> Answer:
        wanted = impersonated(exchange.request.headers.items())
        if wanted is not None:
            for action in _impersonations(exchange, wanted):
                await self.authorization.check(action)
            exchange.user = wanted
        return await go_on(exchange)

    async def limit(self, exchange: Exchange, go_on: Next) -> Answer:
        if exchange.is_long_running:
            self.metrics.long_running(exchange, 1)
            try:
                return await go_on(exchange)
            finally:
                self.metrics.long_running(exchange, -1)
        kind = "readOnly" if exchange.is_read else "mutating"
        line = self.reads if exchange.is_read else self.writes
        try:
            await line.enter()
        except TooBusy:
            self.metrics.rejected += 1
            text = "Too many requests, please try again later.\n"
            return exchange.text(429, text, ("Retry-After", "1"))
        self.metrics.in_flight[kind] += 1
        try:
            return await go_on(exchange)
        finally:
            self.metrics.in_flight[kind] -= 1
            line.leave()

    async def set_deadline(self, exchange: Exchange, go_on: Next) -> Answer:
        if exchange.is_long_running:
            return await go_on(exchange)
        limit_s = _TIMEOUT_S if exchange.is_read else _WRITE_TIMEOUT_S
        if "timeout" in exchange.request.raw_query:
            limit_s = _asked_timeout(exchange, limit_s)
        try:
            async with deadline(self.clock, limit_s):
                return await go_on(exchange)
        except TimeoutError as error:
            text = "Timeout: request did not complete within the allotted timeout"
            raise Timeout(text, details={}) from error

    async def authorize(self, exchange: Exchange, go_on: Next) -> Answer:
        await self.authorization.check(action_of(exchange))
        return await go_on(exchange)


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


def _composed(stages: tuple[Stage, ...], last: Next) -> Next:
    entry = last
    for stage in reversed(stages):
        entry = _before(stage, entry)
    return entry


def _before(stage: Stage, go_on: Next) -> Next:
    def entry(exchange: Exchange) -> Awaitable[Answer]:
        return stage(exchange, go_on)

    return entry


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
