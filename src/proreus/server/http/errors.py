"""Exception → Status: whatever a handler raises is answered here.

Storage errors of a verb arrive as API errors (``registry/failures``), and those of a watch that
has begun become ERROR events in ``watch_cache/watches``; the others are translated here.

What was not expected is logged once, with its traceback, and answered with a 500 that reveals
nothing.
"""

from __future__ import annotations

import structlog

from proreus.api.group_version import GroupResource
from proreus.api.status import (
    ApiError,
    BadRequest,
    InternalError,
    NotAcceptable,
    PlainError,
    ResourceVersionTooLarge,
    ServerTimeout,
    Timeout,
    TooLarge,
)
from proreus.api.wire import json
from proreus.api.wire.amplification import TooManyContainers
from proreus.api.wire.path import ApiPath
from proreus.net.http1.messages import Response
from proreus.server.authn.impersonation import NobodyImpersonated
from proreus.server.authz.authorizer import Denied
from proreus.server.http.exchange import Exchange, Header
from proreus.server.http.negotiation import AS_IT_IS, PLAIN, Choice
from proreus.server.http.representation import choose, encode_document
from proreus.server.registry.failures import TOO_LARGE
from proreus.server.storage.interface import (
    FutureRevision,
    InvalidKey,
    StorageBroken,
    StorageError,
    Unavailable,
    ValueTooLarge,
)

_log = structlog.get_logger(__name__)
_RETRY_UNAVAILABLE_S = 2
_UNKNOWN = Choice(pretty=True)


class Unexpected(InternalError):
    """A fault of the server itself."""


def to_api_error(exchange: Exchange, error: Exception) -> ApiError:
    """What a failure is called on the wire."""
    match error:
        case ApiError():
            return error
        case TooManyContainers():
            return TooLarge(f"Request entity too large: {error}")
        case TimeoutError():
            return Timeout("Timeout: request did not complete within the allotted timeout")
        case FutureRevision():
            return ResourceVersionTooLarge.of(error.wanted, error.current, retry_after_s=0)
        case StorageBroken():
            return InternalError.of("the storage failed: the server must be restarted")
        case Unavailable() if isinstance(exchange.info.target, ApiPath):
            asked = GroupResource(exchange.info.target.group, exchange.info.target.resource)
            return ServerTimeout.of(asked, exchange.verb, _RETRY_UNAVAILABLE_S)
        case InvalidKey():
            return BadRequest(f"the request names what cannot exist: {error}")
        case ValueTooLarge():
            return PlainError(TOO_LARGE)
        case StorageError():
            _log.error("storage failed", path=exchange.path, error=str(error))
            return InternalError.of(str(error))
        case _:
            _log.error("request failed", method=exchange.method, path=exchange.path, exc_info=error)
            return Unexpected.of("the server could not complete the request")


def answer(exchange: Exchange, error: ApiError) -> Response:
    """The Status in the encoding asked for; indented JSON if that is not known."""
    choice = _choice(exchange)
    code = int(error.status["code"])
    headers: list[Header] = []
    if error.retry_after_s:
        headers.append(("Retry-After", str(error.retry_after_s)))
    if isinstance(error, Denied | NobodyImpersonated):
        headers.append(("X-Content-Type-Options", "nosniff"))
    if choice is PLAIN:
        return exchange.json(code, json.encode(error.status) + b"\n", *headers)
    content = ("Content-Type", choice.media.value)
    body = encode_document(choice, error.status)
    return Response(code, exchange.head(*headers, content=content), body)


def _choice(exchange: Exchange) -> Choice:
    try:
        return choose(exchange, AS_IT_IS)
    except NotAcceptable:
        return _UNKNOWN
