"""A request for a group version of another API server: handed through, answered as it answers.

Authentication, authorization, audit and fairness were this server's. The other one is sent who
asks, in headers it believes of our certificate, and never the caller's credentials. What belongs to
one connection stays on it. An answer that is short and whole is sent as one, another as it comes; a
client that does not read holds up nothing but its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from proreus.aio.clock import deadline
from proreus.api.wire.path import ApiPath
from proreus.net.client.proxying import (
    WITHOUT_BODY,
    content_length,
    send_on,
    wants_upgrade,
)
from proreus.net.client.transport_error import TransportError
from proreus.net.http1.messages import Answer, Pieces, Response, Streamed
from proreus.server.aggregation.backend import BackendBusy, BackendError, BackendMisconfigured
from proreus.server.aggregation.front_proxy_headers import UnsendableUser, front_proxy_headers
from proreus.server.aggregation.remote import Remote
from proreus.server.http.body import read_body
from proreus.server.http.exchange import Exchange
from proreus.server.http.forwarded_headers import forwarded_head, forwarded_headers
from proreus.server.http.services import Services

if TYPE_CHECKING:
    from proreus.net.client.http_client import ByteStream

_DISCOVERY_S = 5.0
_HEAD_S = 60.0  # until an answer begins; the stage of deadlines may end it before
_SHORT_BYTES = 256 * 1024
_REDIRECTED = "the backend attempted to redirect this request, which is not permitted"


async def proxy_request(services: Services, exchange: Exchange, remote: Remote) -> Answer:
    if not remote.service.is_available:
        return exchange.text(503, "service unavailable\n")
    try:
        headers = _request_headers(services, exchange)
        if wants_upgrade(exchange.request):
            return await _upgraded(exchange, remote, headers)
        return await _answered(services, exchange, remote, headers)
    except BackendBusy as error:
        return exchange.text(429, f"{error}\n", ("Retry-After", "1"))
    except BackendMisconfigured as error:
        return exchange.text(500, f"{error}\n")
    except (BackendError, UnsendableUser) as error:
        return exchange.text(503, f"error trying to reach service: {error}\n")


async def _answered(
    services: Services, exchange: Exchange, remote: Remote, headers: dict[str, list[str]]
) -> Answer:
    body = await read_body(exchange)
    if exchange.is_long_running:
        exchange.seat.leave()  # the other server decides how many of them it takes
    patience_s = _HEAD_S if isinstance(exchange.info.target, ApiPath) else _DISCOVERY_S
    asked = remote.backend.stream(
        exchange.method, _target(exchange), headers, body or None, patience_s
    )
    async with asked as answer:
        if _is_redirected(answer.status, answer.headers.get("Location"), exchange):
            return exchange.text(502, _REDIRECTED)
        head = forwarded_head(exchange, answer.headers)
        length = content_length(answer)
        if exchange.method == "HEAD" or answer.status in WITHOUT_BODY:
            return Response(answer.status, head, Pieces(length or 0, iter(())))
        if length is not None and length <= _SHORT_BYTES:
            return Response(answer.status, head, await _whole(services, answer, patience_s))
        return await send_on(exchange.request, answer, head)


def _is_redirected(status: int, location: str, exchange: Exchange) -> bool:
    """A document that was asked for with an old hash may be found at the same path."""
    if not 300 <= status < 400 or not location:
        return False
    is_document = not isinstance(exchange.info.target, ApiPath)
    return not (is_document and location.startswith(f"{exchange.request.raw_path_only}?"))


async def _whole(services: Services, answer: ByteStream, patience_s: float) -> bytes:
    """Raises BackendError."""
    try:
        async with deadline(services.clock, patience_s):
            return await answer.read(_SHORT_BYTES)
    except (TransportError, TimeoutError) as error:
        raise BackendError("unexpected EOF") from error


async def _upgraded(exchange: Exchange, remote: Remote, headers: dict[str, list[str]]) -> Answer:
    asked = exchange.headers
    headers = {**headers, "Connection": ["Upgrade"], "Upgrade": [asked["Upgrade"]]}
    async with remote.backend.upgrade(
        exchange.method, _target(exchange), headers, _HEAD_S
    ) as answer:
        if answer.status == 101:
            exchange.lift_deadline()
            exchange.seat.leave()
            await answer.relay(exchange.request)
            return Streamed(keep_alive=False, status=101)
        if _is_redirected(answer.status, answer.headers.get("Location"), exchange):
            return exchange.text(502, _REDIRECTED)
        try:
            body = await answer.read_body()
        except TransportError as error:
            raise BackendError(error.why) from error
        return Response(answer.status, forwarded_head(exchange, answer.headers), body)


def _request_headers(services: Services, exchange: Exchange) -> dict[str, list[str]]:
    """Raises UnsendableUser."""
    headers = forwarded_headers(services, exchange)
    return {**headers, "Audit-Id": [exchange.audit_id], **front_proxy_headers(exchange.user)}


def _target(exchange: Exchange) -> str:
    query = exchange.request.raw_query
    return exchange.request.raw_path_only + (f"?{query}" if query else "")
