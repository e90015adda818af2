"""Which user asks: by a proxy's headers, client certificate or token, else the anonymous one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from proreus.api.status import Unauthorized
from proreus.net.http1.messages import Answer
from proreus.net.websocket.handshake import is_upgrade
from proreus.server.authn.chain import (
    EXTRA_SPACE,
    Authentication,
    Credentials,
    has_extra_space,
)
from proreus.server.http.exchange import Exchange
from proreus.server.http.stage_times import StageTimes
from proreus.server.http.stages.stage import Next

Refused = Callable[[Exchange, Unauthorized], None]


def authenticate(
    authentication: Authentication,
    times: StageTimes,
    proceed: Next,
    refused: Refused | None = None,
) -> Next:
    """``refused`` is called with requests that go no further."""

    def stage(exchange: Exchange) -> Awaitable[Answer]:
        if exchange.request.peer_certificate is None:
            user = authentication.remembered(exchange.headers.get("Authorization", ""))
            if user is not None:
                exchange.user = user
                times.passed(times.authentication, exchange)
                return proceed(exchange)
        return verify(exchange)

    async def verify(exchange: Exchange) -> Answer:
        try:
            exchange.user = await authentication.user(_credentials(exchange))
        except Unauthorized as error:
            times.passed(times.authentication, exchange)
            if refused is not None:
                refused(exchange, error)
            raise
        if has_extra_space(exchange.headers.get("Authorization", "")):
            exchange.warn(EXTRA_SPACE)
        times.passed(times.authentication, exchange)
        return await proceed(exchange)

    return stage


def _credentials(exchange: Exchange) -> Credentials:
    """A browser's WebSocket cannot send an Authorization header; it names its token among the
    protocols."""
    headers, protocols = exchange.headers, ""
    if is_upgrade(headers):
        protocols = headers.get("Sec-WebSocket-Protocol", "")
    request = exchange.request
    return Credentials(
        headers.get("Authorization", ""),
        protocols,
        request.peer_certificate,
        request.headers.items(),
        exchange.path,
    )
