"""Headers of requests that are handed to another server, and of the answers it gives.

The other one is never sent the caller's credentials. What belongs to one connection stays on it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from proreus.api.wire.channels import BEARER_PROTOCOL
from proreus.net.client.proxying import OF_CONNECTION, connection_options, sendable
from proreus.net.websocket.handshake import offered_protocols
from proreus.server.http.exchange import Exchange, Header
from proreus.server.http.services import Services

if TYPE_CHECKING:
    from proreus.net.client.http_client import Headers

# What is for this server alone.
_OURS = OF_CONNECTION | {
    "authorization", "host", "content-length", "expect", "accept-encoding", "x-forwarded-for",
    "sec-websocket-protocol",
}  # fmt: skip
_PROTOCOL = "Sec-WebSocket-Protocol"  # a browser sends its token among the protocols
# Answers have these of this server.
_OWN = OF_CONNECTION | {
    "content-length", "date", "audit-id", "x-kubernetes-pf-flowschema-uid",
    "x-kubernetes-pf-prioritylevel-uid",
}  # fmt: skip


def forwarded_headers(services: Services, exchange: Exchange) -> dict[str, list[str]]:
    """Those of a request, with whom it has passed by."""
    request = exchange.request
    dropped = _OURS | connection_options(request.headers.getall("Connection", ()))
    headers = {
        name: [sendable(value) for value in request.headers.getall(name)]
        for name in dict.fromkeys(map(str.title, request.headers))
        if name.lower() not in dropped and not services.authentication.names_user(name.lower())
    }
    if offered := [
        one for one in offered_protocols(request) if not one.startswith(BEARER_PROTOCOL)
    ]:
        headers[_PROTOCOL] = [", ".join(offered)]
    passed_by = [*request.headers.getall("X-Forwarded-For", ()), request.peer_address]
    if passed_by := [sendable(one) for one in passed_by if one]:
        headers["X-Forwarded-For"] = [", ".join(passed_by)]
    return headers


def forwarded_head(
    exchange: Exchange, answered: Headers, dropped: frozenset[str] = frozenset()
) -> tuple[Header, ...]:
    """``dropped``: names, in small letters, of further headers that stay behind."""
    kept_back = _OWN | dropped | connection_options(answered.all("Connection"))
    given = [(name, value) for name, value in answered.pairs() if name not in kept_back]
    names = {name for name, _ in given}
    own = [one for one in exchange.head() if one[0].lower() not in names | {"content-type"}]
    return (*own, *((name.title(), value) for name, value in given))
